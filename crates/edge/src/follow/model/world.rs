//! The steps of a schedule.

use super::history::{History, State, shown};
use super::machine::Machine;
use super::network::{Connection, Letter, Network, Write};
use super::server::Server;
use super::{Flaw, Verdict};
use crate::follow::exchange::{Exchange, Next};
use crate::follow::record::Record;
use crate::follow::{Ended, Replica, lines, promote};
use std::sync::Arc;
use std::time::Duration;
use terrane::{Db, FeedCursor};
use terrane_workload::Random;

/// The address of the server, also of one that takes its place.
const SOURCE: &str = "http://server:4540";
const REPLICAS: u64 = 2;
const WRITERS: usize = 3;
/// Steps between two rests.
const REST: u64 = 100;
/// Turns in which everyone must be at rest once nothing fails.
const TURNS: u64 = 2000;

/// Everyone, and what is under way between them.
pub struct World {
    random: Random,
    flaw: Option<Flaw>,
    network: Network,
    history: History,
    server: Server,
    replicas: Vec<Follower>,
    writers: Vec<Writer>,
    /// A copy of the server's store, and its rows.
    backup: Option<(Machine, State)>,
    machines: u64,
}

/// A replica's machine, and its process.
struct Follower {
    machine: Machine,
    exchange: Option<Exchange>,
    connection: Option<Connection>,
}

/// A writer, which sends a write again until it is acknowledged.
#[derive(Default)]
struct Writer {
    number: u64,
    unanswered: Option<Write>,
}

impl Follower {
    fn on(machine: Machine) -> Self {
        Follower { machine, exchange: None, connection: None }
    }

    /// Ends the connection.
    fn hang_up(&mut self) {
        (self.exchange, self.connection) = (None, None);
    }

    /// Ends the process.
    fn kill(&mut self, random: &mut Random) -> Verdict {
        self.hang_up();
        self.machine.kill(random)
    }

    /// Sends the next request over a connection of its own.
    fn request(&mut self, network: &mut Network) {
        if let Some(exchange) = &self.exchange {
            let connection = network.connect();
            self.connection = Some(connection);
            network.letters.push(Letter::Request { connection, target: exchange.request() });
        }
    }

    /// Starts an exchange.
    fn connect(&mut self, network: &mut Network) -> Verdict {
        let replica = Arc::new(Replica::new(Duration::MAX));
        self.exchange = self.machine.run(|db| Exchange::start(db, SOURCE, replica))?;
        self.request(network);
        Ok(())
    }

    /// Takes the next line of its connection, twice at times.
    fn line(&mut self, random: &mut Random, network: &mut Network) -> Verdict {
        let Some(stream) = self.connection.and_then(|of| network.streams.get_mut(&of)) else {
            return Ok(());
        };
        let Some(line) = stream.lines.pop_front() else {
            if stream.is_cut {
                self.hang_up();
            }
            return Ok(());
        };
        if random.one_in(40) {
            stream.lines.push_front(line.clone());
        }
        let line = lines::parse(&line).map_err(|e| e.to_string())?;
        let Some(exchange) = &mut self.exchange else { return Ok(()) };
        match exchange.line(&line) {
            Ok(Next::Line) => Ok(()),
            Ok(Next::Request) => {
                self.request(network);
                Ok(())
            }
            Err(ended) => self.ended(ended),
        }
    }

    fn ended(&mut self, ended: Ended) -> Verdict {
        self.hang_up();
        match ended {
            Ended::Store(e) => self.machine.checked::<()>(Err(e)).map(drop),
            Ended::Gone | Ended::Source(_) => Ok(()),
        }
    }

    /// Returns the cursor of its rows, once they are those of the server at that cursor; `None` without one.
    fn check(&self, history: &History) -> Verdict<Option<FeedCursor>> {
        let found = self.machine.run(|db| Ok((Record::of(db)?.cursor(SOURCE)?, shown(db)?)))?;
        let Some((Some(cursor), rows)) = found else { return Ok(None) };
        history.check_replica(cursor, &rows)?;
        Ok(Some(cursor))
    }
}

impl World {
    pub fn new(seed: u64, flaw: Option<Flaw>) -> Verdict<Self> {
        let mut history = History::default();
        let mut server = Server::new(Machine::new(0)?);
        server.start(&mut history)?;
        let machines = (1..=REPLICAS).map(Machine::new);
        let replicas = machines.map(|machine| machine.map(Follower::on)).collect::<Verdict<_>>()?;
        Ok(World {
            random: Random(seed),
            flaw,
            network: Network::default(),
            history,
            server,
            replicas,
            writers: (0..WRITERS).map(|_| Writer::default()).collect(),
            backup: None,
            machines: REPLICAS,
        })
    }

    pub fn play(&mut self, steps: u64) -> Verdict {
        for step in 1..=steps {
            self.step()?;
            self.reap()?;
            if step % REST == 0 {
                self.rest()?;
            }
        }
        Ok(())
    }

    fn step(&mut self) -> Verdict {
        match self.random.below(64) {
            0..12 => self.write(),
            12..26 => self.deliver()?,
            26..36 => self.server.send(&mut self.random, &mut self.network)?,
            36..50 => {
                let at = self.one();
                self.replicas[at].line(&mut self.random, &mut self.network)?;
            }
            50..54 => self.server.keep(&mut self.random, &mut self.history)?,
            54..58 => {
                let at = self.one();
                self.connect(at)?;
            }
            58 => {
                let at = self.one();
                if let Some(connection) = self.replicas[at].connection {
                    self.network.cut(connection, &mut self.random);
                }
            }
            59 => {
                let at = self.one();
                self.replicas[at].hang_up();
            }
            60 => {
                let at = self.one();
                self.replicas[at].check(&self.history)?;
            }
            61 => self.kill()?,
            62 => self.start()?,
            _ => self.operate()?,
        }
        Ok(())
    }

    /// Returns the number of a random replica.
    fn one(&mut self) -> usize {
        self.random.below(REPLICAS) as usize
    }

    /// Sends a write of some writer: its unanswered one, or a new one.
    fn write(&mut self) {
        let writer = self.random.below(WRITERS as u64) as usize;
        let Writer { number, unanswered } = &mut self.writers[writer];
        let write = unanswered.get_or_insert_with(|| {
            *number += 1;
            let is_durable = self.random.one_in(2);
            Write { writer, number: *number, is_durable, seed: self.random.word() }
        });
        self.network.letters.push(Letter::Write(write.clone()));
    }

    /// Delivers a letter.
    fn deliver(&mut self) -> Verdict {
        let Some(letter) = self.network.take(&mut self.random) else { return Ok(()) };
        match letter {
            Letter::Acknowledged { writer, number } => {
                let Writer { unanswered, .. } = &mut self.writers[writer];
                unanswered.take_if(|write| write.number == number);
            }
            Letter::Refused { connection, status } => {
                let of = |replica: &&mut Follower| replica.connection == Some(connection);
                let Some(replica) = self.replicas.iter_mut().find(of) else { return Ok(()) };
                let Some(exchange) = &mut replica.exchange else { return Ok(()) };
                let ended = exchange.refused(status);
                replica.ended(ended)?;
            }
            asked => {
                let reply = self.server.serve(asked, &mut self.history, self.flaw)?;
                self.network.letters.extend(reply);
            }
        }
        Ok(())
    }

    /// Connects a replica, unless it is connected.
    fn connect(&mut self, at: usize) -> Verdict {
        let replica = &mut self.replicas[at];
        if replica.connection.is_none() {
            replica.connect(&mut self.network)?;
        }
        Ok(())
    }

    /// Kills a process, at once or soon, within an operation of its files.
    fn kill(&mut self) -> Verdict {
        let at = self.random.below(REPLICAS + 1) as usize;
        let is_planned = self.random.one_in(2);
        let World { server, replicas, random, .. } = self;
        match (replicas.get_mut(at), is_planned) {
            (Some(replica), true) => replica.machine.plan_cut(random),
            (Some(replica), false) => replica.kill(random)?,
            (None, true) => server.machine.plan_cut(random),
            (None, false) => server.kill(random)?,
        }
        Ok(())
    }

    /// Ends the processes of machines whose power was cut.
    fn reap(&mut self) -> Verdict {
        let World { server, replicas, random, .. } = self;
        for replica in replicas.iter_mut().filter(|replica| replica.machine.is_cut()) {
            replica.kill(random)?;
        }
        if server.machine.is_cut() {
            server.kill(random)?;
        }
        Ok(())
    }

    /// Starts the processes that are dead.
    fn start(&mut self) -> Verdict {
        if self.server.machine.db().is_none() {
            self.server.start(&mut self.history)?;
        }
        for replica in self.replicas.iter_mut().filter(|replica| replica.machine.db().is_none()) {
            replica.machine.start()?;
            replica.check(&self.history)?;
        }
        Ok(())
    }

    /// Copies the server's store, restores the copy, or promotes a replica, as an operator may.
    fn operate(&mut self) -> Verdict {
        match self.random.below(4) {
            0 | 1 => self.copy(),
            2 => self.restore(),
            _ => self.promote(),
        }
    }

    fn machine(&mut self) -> Verdict<Machine> {
        self.machines += 1;
        Machine::new(self.machines)
    }

    fn copy(&mut self) -> Verdict {
        self.machines += 1;
        if let Some(copy) = self.server.machine.copy(self.machines)? {
            self.backup = Some((copy, self.history.current().clone()));
        }
        Ok(())
    }

    /// Replaces the server, which is down for good, by the copy.
    fn restore(&mut self) -> Verdict {
        let Some((copy, state)) = self.backup.take() else { return Ok(()) };
        self.server.kill(&mut self.random)?;
        self.server = Server::new(copy);
        self.server.machine.start()?;
        if let Some(at) = self.server.cursor() {
            self.history.restored(at, state);
        }
        self.history.check()
    }

    /// Replaces the server, which is down for good, by a replica.
    fn promote(&mut self) -> Verdict {
        let at = self.one();
        let replica = &mut self.replicas[at];
        replica.hang_up();
        if replica.check(&self.history)?.is_none() {
            return Ok(());
        }
        let Some(state) = replica.machine.run(shown)? else { return Ok(()) };
        let Some(db) = replica.machine.db() else { return Ok(()) };
        match promote(db) {
            Ok(true) => {}
            Ok(false) => return Err("a promoted store was no replica".to_owned()),
            Err(_) if replica.machine.is_cut() => {
                // Half promoted it is neither: the operator takes another.
                replica.kill(&mut self.random)?;
                self.replicas[at] = Follower::on(self.machine()?);
                return Ok(());
            }
            Err(e) => return Err(format!("a promotion failed: {e}")),
        }
        self.server.kill(&mut self.random)?;
        let fresh = self.machine()?;
        let promoted = std::mem::replace(&mut self.replicas[at], Follower::on(fresh));
        self.server = Server::new(promoted.machine);
        if let Some(at) = self.server.cursor() {
            self.history.restored(at, state);
        }
        self.history.check()
    }

    /// Lets everyone finish, without crashes, and checks the promises.
    fn rest(&mut self) -> Verdict {
        self.network.clear();
        for replica in &mut self.replicas {
            replica.hang_up();
        }
        for _ in 0..TURNS {
            self.start()?;
            self.reap()?;
            if self.is_at_rest()? {
                return self.history.check();
            }
            self.turn()?;
        }
        Err(format!("{TURNS} turns without rest"))
    }

    /// Gives everyone a turn.
    fn turn(&mut self) -> Verdict {
        for writer in &self.writers {
            self.network.letters.extend(writer.unanswered.clone().map(Letter::Write));
        }
        for at in 0..self.replicas.len() {
            // A request or its reply may be lost.
            if self.random.one_in(16) {
                self.replicas[at].hang_up();
            }
            self.connect(at)?;
        }
        while !self.network.letters.is_empty() {
            self.deliver()?;
        }
        self.server.machine.run(Db::sync)?;
        for _ in 0..8 {
            self.server.send(&mut self.random, &mut self.network)?;
        }
        for replica in &mut self.replicas {
            for _ in 0..8 {
                replica.line(&mut self.random, &mut self.network)?;
            }
        }
        self.reap()
    }

    /// Whether every write is answered, and every replica equals the server.
    fn is_at_rest(&self) -> Verdict<bool> {
        let end = self.server.cursor();
        if end.is_none() || self.writers.iter().any(|writer| writer.unanswered.is_some()) {
            return Ok(false);
        }
        for replica in &self.replicas {
            // `check` has compared its rows.
            if replica.check(&self.history)? != end {
                return Ok(false);
            }
        }
        let shown = self.server.machine.run(shown)?;
        match shown.is_some_and(|shown| shown == *self.history.current()) {
            true => Ok(true),
            false => Err("the server has other rows than were written".to_owned()),
        }
    }
}
