//! Progress of a job.

/// Whether a job is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// There is more to do.
    More,
    /// It has taken effect; drop the job.
    Done,
}
