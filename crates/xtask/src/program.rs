//! Programs on `PATH` that tests run.

use crate::debian;
use crate::need::Need;
use crate::workspace::{Workspace, on_path};
use anyhow::Result;

/// A program, and Debian's package of it.
pub struct Program {
    name: &'static str,
    package: &'static str,
}

/// Sends requests over HTTP.
pub const CURL: Program = Program { name: "curl", package: "curl" };
/// Makes certificates.
pub const OPENSSL: Program = Program { name: "openssl", package: "openssl" };
/// Sends commands in Redis's protocol; `redis-benchmark` is in the same package.
pub const REDIS_CLI: Program = Program { name: "redis-cli", package: "redis-tools" };

impl Need for Program {
    fn name(&self) -> String {
        self.name.into()
    }

    fn wanted(&self, _: &Workspace) -> String {
        "any".into()
    }

    fn found(&self, _: &Workspace) -> Result<String, String> {
        let path = on_path(&[self.name]).next().ok_or("none")?;
        Ok(path.display().to_string())
    }

    fn remedy(&self, _: &Workspace) -> String {
        format!("apt-get install {} as root, or your system's package", self.package)
    }

    fn install(&self, workspace: &Workspace) -> Result<()> {
        debian::install(workspace, &[self.package])
    }
}
