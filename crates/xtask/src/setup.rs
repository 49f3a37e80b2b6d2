//! Needs of the commands on a machine, and their installation.
//!
//! 1. A [`Need`] looks whether it is met; `doctor` stops there.
//! 2. If not, it installs itself, or says in a sentence what a person has to do.
//! 3. It looks again: an installer that says yes is not believed.

use crate::need::Need;
use crate::webkit::WebKit;
use crate::workspace::Workspace;
use crate::{browser, node, program, rust};
use anyhow::{Result, bail};
use std::sync::{Mutex, PoisonError};

/// Everything that any command needs, in the order in which it can be installed.
pub fn all() -> Vec<Box<dyn Need>> {
    let mut needs: Vec<Box<dyn Need>> = vec![
        Box::new(rust::Compiler),
        Box::new(rust::WasmTarget),
        Box::new(rust::Nightly),
        Box::new(rust::RUSTFMT),
        Box::new(rust::CLIPPY),
        Box::new(rust::WasmPack),
        Box::new(rust::WasmBindgen),
        Box::new(rust::CargoDeny),
        Box::new(node::Node),
        Box::new(node::Npm),
    ];
    for package in node::PACKAGES {
        needs.push(Box::new(package));
    }
    needs.push(Box::new(browser::CHROMIUM));
    needs.push(Box::new(browser::FIREFOX));
    needs.push(Box::new(WebKit));
    for program in [program::CURL, program::OPENSSL, program::REDIS_CLI] {
        needs.push(Box::new(program));
    }
    needs
}

/// Installs everything that is missing.
///
/// # Errors
/// Everything that could not be installed, each with its remedy. Optional needs are printed instead.
pub fn ensure_all(workspace: &Workspace) -> Result<()> {
    let (mut failures, mut left_out) = (Vec::new(), Vec::new());
    for need in all() {
        if let Err(error) = ensure(workspace, &[need.as_ref()]) {
            let list = if need.is_optional() { &mut left_out } else { &mut failures };
            list.push(format!("{error:#}"));
        }
    }
    for error in &left_out {
        println!("left out: {error}");
    }
    if failures.is_empty() {
        println!("Everything {}is installed.", if left_out.is_empty() { "" } else { "else " });
        return Ok(());
    }
    bail!("{}", failures.join("\nerror: "))
}

/// One installation at a time: steps that run side by side may need the same, and installers lock
/// each other out.
static INSTALLING: Mutex<()> = Mutex::new(());

/// Installs those of `needs` that are missing, in order.
///
/// # Errors
/// The first that is missing and could not be installed, with its remedy.
pub fn ensure(workspace: &Workspace, needs: &[&dyn Need]) -> Result<()> {
    for need in needs {
        if need.found(workspace).is_ok() {
            continue;
        }
        let _alone = INSTALLING.lock().unwrap_or_else(PoisonError::into_inner);
        if need.found(workspace).is_ok() {
            continue;
        }
        let outcome = need.install(workspace);
        if let Err(found) = need.found(workspace) {
            let cause = outcome.err().map(|error| format!(" ({error:#})")).unwrap_or_default();
            bail!(
                "{}: wanted {}, found {found}{cause}. To get it: {}",
                need.name(),
                need.wanted(workspace),
                need.remedy(workspace)
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::ensure;
    use crate::need::Need;
    use crate::workspace::Workspace;
    use anyhow::{Result, bail};
    use std::cell::Cell;

    struct Fake {
        there: Cell<bool>,
        works: Option<bool>,
    }

    impl Need for Fake {
        fn name(&self) -> String {
            "fake".into()
        }
        fn wanted(&self, _: &Workspace) -> String {
            "2.0".into()
        }
        fn found(&self, _: &Workspace) -> Result<String, String> {
            if self.there.get() { Ok("2.0".into()) } else { Err("1.0".into()) }
        }
        fn remedy(&self, _: &Workspace) -> String {
            "get fake".into()
        }
        fn install(&self, _: &Workspace) -> Result<()> {
            assert!(!self.there.get(), "what is there is not installed");
            match self.works {
                Some(works) => self.there.set(works),
                None => bail!("no network"),
            }
            Ok(())
        }
    }

    fn outcome(there: bool, works: Option<bool>) -> Result<()> {
        ensure(&Workspace::find(), &[&Fake { there: Cell::new(there), works }])
    }

    #[test]
    fn a_need_is_installed_once_and_checked_afterwards() {
        assert!(outcome(true, None).is_ok());
        assert!(outcome(false, Some(true)).is_ok());
        let refused = outcome(false, Some(false)).unwrap_err().to_string();
        assert_eq!(refused, "fake: wanted 2.0, found 1.0. To get it: get fake");
        let failed = outcome(false, None).unwrap_err().to_string();
        assert_eq!(failed, "fake: wanted 2.0, found 1.0 (no network). To get it: get fake");
    }
}
