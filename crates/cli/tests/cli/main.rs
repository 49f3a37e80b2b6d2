//! The built `terrane`, run as its users run it.

#[cfg(test)]
mod advise;
#[cfg(test)]
mod bench;
#[cfg(test)]
mod commands;
#[cfg(test)]
mod copies;
#[cfg(test)]
mod crash;
#[cfg(test)]
mod events;
#[cfg(test)]
mod foreign;
#[cfg(test)]
mod help;
#[cfg(test)]
mod history;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod load;
#[cfg(test)]
mod place;
#[cfg(test)]
mod ranges;
#[cfg(test)]
mod read_only;
#[cfg(test)]
mod repair;
#[cfg(test)]
mod s3;
#[cfg(test)]
mod serve;
#[cfg(test)]
mod serve_backup;
#[cfg(test)]
mod serve_follow;
#[cfg(test)]
mod serve_killed;
#[cfg(test)]
mod serve_moto;
#[cfg(test)]
mod serve_s3;
#[cfg(test)]
mod serve_s3_killed;
#[cfg(test)]
mod shell;
#[cfg(test)]
mod simulate;
#[cfg(test)]
mod sweep;
#[cfg(test)]
#[cfg(unix)]
mod terminal;
#[cfg(test)]
mod trees;
