//! The browser builds: the engine with the npm package around it, the simulator, and the reader of histories.
//!
//! 1. wasm-pack compiles a crate and writes its JavaScript, with the tools that are here: it
//!    downloads nothing.
//! 2. wasm-opt, from the npm package `binaryen`, makes the release module smaller and faster, and
//!    then orders its functions. It goes over the engine until nothing gets smaller; that makes the
//!    simulator 0.5 % smaller, in three times the time, and so is not done. What module and JavaScript
//!    import from each other gets short names.
//! 3. Three files go where the module is used: the engine's, in three builds, to `bindings-js/wasm`, of
//!    which TypeScript builds `bindings-js/dist`. A nightly compiler compiles a standard library along
//!    with them: for size, where a panic traps without its message (9 kB less), and for the build with
//!    threads with atomics. That one has JavaScript of its own.
//! 4. The release package is weighed as a server would send it, and is refused above a bound. The
//!    modules of the site are weighed.
//!
//! No part runs again while its inputs are older than its output.

use crate::fresh::Step;
use crate::function_order::named_by_place;
use crate::glue::{DECLARATION, THREADS_DECLARATION, as_function, has_shared_memory};
use crate::import_names;
use crate::need::Need;
use crate::node::{self, BINDINGS};
use crate::progress;
use crate::rust::{NIGHTLY, Nightly, WASM_TARGET, WasmBindgen, WasmPack, WasmTarget};
use crate::setup;
use crate::workspace::Workspace;
use anyhow::Result;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Instructions that every supported browser has had for years and Rust does not yet use by itself.
const INSTRUCTIONS: &str = "-C target-feature=+simd128,+bulk-memory";

/// The same, without the instructions for copies, for which a browser leaves the module: the engine has functions in
/// their place (`crates/wasm/src/memory.rs`). Memory that is shared needs them.
const INSTRUCTIONS_BUT_COPIES: &str = "-C target-cpu=mvp -C target-feature=+simd128,\
    +mutable-globals,+sign-ext,+nontrapping-fptoint,+multivalue,+reference-types";

/// A third less code at nearly the same speed: loops stay as they are written, and what is not marked to be inlined is
/// so only where that is shorter than a call, or nearly.
const RUSTFLAGS: &str = "-C no-vectorize-loops -C no-vectorize-slp \
    -C llvm-args=-inline-threshold=20 -C llvm-args=-inlinehint-threshold=5";

/// Flags of a release of the engine: a panic traps at once, and code for its message is gone. A build for
/// development says it.
const RELEASE_RUSTFLAGS: &str =
    "-Z unstable-options -C panic=immediate-abort -Z location-detail=none";

/// The standard library that is compiled along, for size.
const STANDARD_LIBRARY: [&str; 6] = [
    "-Z",
    "build-std=std,panic_abort",
    "-Z",
    "build-std-features=optimize_for_size",
    "--target-dir",
    "target/browser",
];

/// Flags of the build with threads. What is left out of this without an error makes a memory that is not
/// shared, or never grows. The memory may take as much as without threads: all of 4 GiB.
const THREADS_RUSTFLAGS: &str = "-C target-feature=+atomics,+mutable-globals \
    -C link-arg=--shared-memory -C link-arg=--import-memory -C link-arg=--max-memory=4294967296 \
    -C link-arg=--export=__heap_base -C link-arg=--export=__wasm_init_tls \
    -C link-arg=--export=__tls_size -C link-arg=--export=__tls_align -C link-arg=--export=__tls_base";

/// Options of wasm-opt. What compresses better is preferred: nothing is inlined (15 kB), nothing computed
/// once for two uses (1 kB), and offsets are folded into loads (1 kB; the stack's end lies below 1024).
const WASM_OPT_FLAGS: [&str; 4] =
    ["-O3", "--skip-pass=inlining-optimizing", "--skip-pass=local-cse", "--low-memory-unused"];

/// Last options of wasm-opt: without names and build information, functions change their places.
const ORDER: [&str; 3] =
    ["--reorder-functions-by-name", "--strip-producers", "--strip-target-features"];

/// The instructions that wasm-opt may meet and write: those that Rust and [`RUSTFLAGS`] use.
const WASM_FEATURES: [&str; 9] = [
    "--enable-threads",
    "--enable-bulk-memory",
    "--enable-bulk-memory-opt",
    "--enable-simd",
    "--enable-mutable-globals",
    "--enable-sign-ext",
    "--enable-nontrapping-float-to-int",
    "--enable-reference-types",
    "--enable-multivalue",
];

/// The most that a page may have to load, in bytes: module, worker and client with gzip -9; with the
/// lean build, with the one that has all policies, and with the one that has threads. Where the checkout
/// lies changes the order of functions, and with it the sums by some 600, which the bounds leave room for.
const GZIP_MAX: [u64; 3] = [308_800, 380_200, 415_300];

/// A crate that becomes a module.
struct Module {
    /// The crate.
    source: &'static str,
    /// The features of the crate.
    features: &'static str,
    /// The crates that it is made of.
    parts: &'static [&'static str],
    /// Name of the module.
    name: &'static str,
    /// Name of the JavaScript beside it.
    glue: &'static str,
    /// Whether it has threads.
    threads: bool,
    /// Whether its release has a standard library that is compiled along with it.
    own_library: bool,
    /// Further options of cargo for its release.
    cargo_options: &'static [&'static str],
    /// Further options of wasm-opt.
    wasm_opt_options: &'static [&'static str],
    /// Folder of the output.
    output: &'static str,
}

/// The engine, with the policies that most stores have.
const LEAN: Module = Module {
    source: "crates/wasm",
    features: "",
    parts: &[
        "crates/types",
        "crates/policy",
        "crates/table",
        "crates/platform",
        "crates/terrane",
        "crates/opfs",
        "crates/session",
        "crates/wasm",
    ],
    name: "terrane",
    glue: "terrane",
    threads: false,
    own_library: true,
    cargo_options: &STANDARD_LIBRARY,
    wasm_opt_options: &["--converge"],
    output: "bindings-js/wasm",
};

/// The engine with all policies, which has the same JavaScript.
const ALL: Module = Module { features: "all", name: "terrane_all", ..LEAN };

/// The engine with all policies and threads.
const THREADS: Module = Module {
    features: "threads",
    name: "terrane_threads",
    glue: "terrane_threads",
    threads: true,
    ..LEAN
};

/// Bytes that a server would send of a file, as an expression of Node.js.
const WEIGH: &str = "`${zlib.gzipSync(fs.readFileSync(process.argv[1]), { level: 9 }).length} bytes \
    with gzip -9`";

/// The simulator.
const SIMULATOR: Module = Module {
    source: "crates/sim-wasm",
    features: "",
    parts: &["crates/types", "crates/policy", "crates/workload", "crates/sim", "crates/sim-wasm"],
    name: "terrane_sim",
    glue: "terrane_sim",
    threads: false,
    own_library: false,
    cargo_options: &[
        "--config=profile.wasm.package.terrane-policy.opt-level=3",
        "--config=profile.wasm.package.terrane-types.opt-level=3",
    ],
    wasm_opt_options: &[],
    output: "target/sim-wasm",
};

/// The reader of other engines' histories.
const HISTORIES: Module = Module {
    source: "crates/foreign-wasm",
    parts: &["crates/types", "crates/policy", "crates/foreign", "crates/foreign-wasm"],
    name: "terrane_foreign",
    glue: "terrane_foreign",
    cargo_options: &[],
    output: "target/foreign-wasm",
    ..SIMULATOR
};

/// Compilation of the module.
#[derive(Clone, Copy)]
pub enum Profile {
    /// For speed and size: a profile of the workspace.
    Release,
    /// For a short build, with names and assertions.
    Dev,
}

impl Profile {
    /// The workspace's name of it.
    fn name(self) -> &'static str {
        match self {
            Profile::Release => "wasm",
            Profile::Dev => "dev",
        }
    }
}

/// A cargo command for the browser, with the flags of this build, so that they share their work.
pub fn cargo(workspace: &Workspace, arguments: &[&str]) -> Command {
    let mut command = workspace.cargo(arguments);
    let flags = [INSTRUCTIONS, RUSTFLAGS].join(" ");
    command
        .args(["--target", WASM_TARGET])
        .env("CARGO_ENCODED_RUSTFLAGS", encoded(workspace, &flags, None));
    command
}

/// `flags`, and no path of this machine in what the module says of its dependencies and of the standard
/// library, which is that of `toolchain`; as cargo takes them where paths may have spaces.
fn encoded(workspace: &Workspace, flags: &str, toolchain: Option<&str>) -> OsString {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(env::home_dir()?.join(".cargo"))).unwrap_or_default();
    let registries = fs::read_dir(home.join("registry/src")).into_iter().flatten().flatten();
    let mut folders: Vec<_> = registries.map(|registry| registry.path()).collect();
    // Where its source is installed; without it, rustc does not name a folder of this machine.
    let mut rustc = workspace.command("rustc");
    rustc.envs(toolchain.map(|toolchain| ("RUSTUP_TOOLCHAIN", toolchain)));
    let sysroot = rustc.args(["--print", "sysroot"]).output();
    let sysroot = sysroot.ok().and_then(|output| String::from_utf8(output.stdout).ok());
    folders.extend(sysroot.map(|path| Path::new(path.trim()).join("lib/rustlib/src/rust")));
    let mut encoded = OsString::from(flags.split_whitespace().collect::<Vec<_>>().join("\x1f"));
    for folder in folders {
        encoded.push("\x1f--remap-path-prefix=");
        encoded.push(folder);
        encoded.push("=");
    }
    encoded
}

/// Brings the module and the npm package up to date.
///
/// # Errors
/// A missing tool, or the build step that failed.
pub fn build(workspace: &Workspace, profile: Profile) -> Result<()> {
    let needs: [&dyn Need; 7] =
        [&WasmTarget, &Nightly, &WasmPack, &WasmBindgen, &node::Node, &node::Npm, &BINDINGS];
    setup::ensure(workspace, &needs)?;
    LEAN.bring_up_to_date(workspace, profile)?;
    ALL.bring_up_to_date(workspace, profile)?;
    THREADS.bring_up_to_date(workspace, profile)?;
    package_step(workspace)?.bring_up_to_date(|| {
        let build = workspace.npm(BINDINGS.folder, &["run", "build"]);
        progress::run("npm run build in bindings-js", build).map(drop)
    })?;
    weigh(workspace, profile)
}

/// Brings the modules of the site up to date, and returns the folders of the simulator and of the reader of histories.
///
/// # Errors
/// A missing tool, or the build step that failed.
pub fn site(workspace: &Workspace, profile: Profile) -> Result<[PathBuf; 2]> {
    let needs: [&dyn Need; 5] = [&WasmTarget, &WasmPack, &WasmBindgen, &node::Node, &BINDINGS];
    setup::ensure(workspace, &needs)?;
    for (module, name) in [(SIMULATOR, "simulator"), (HISTORIES, "reader of histories")] {
        module.bring_up_to_date(workspace, profile)?;
        let mut weigh = workspace.command("node");
        weigh.args(["--print", WEIGH]).arg(module.file(workspace));
        let weight = progress::run(&format!("weighing the {name}"), weigh)?;
        progress::say(&format!("  {name}: {}", weight.trim_end()));
    }
    Ok([SIMULATOR, HISTORIES].map(|module| workspace.path(module.output)))
}

impl Module {
    fn bring_up_to_date(&self, workspace: &Workspace, profile: Profile) -> Result<()> {
        self.step(workspace, profile).bring_up_to_date(|| self.build(workspace, profile))
    }

    fn step(&self, workspace: &Workspace, profile: Profile) -> Step {
        let locks = ["Cargo.toml", "Cargo.lock", "bindings-js/package-lock.json"];
        let inputs = locks.iter().chain(self.parts).map(|input| workspace.path(input));
        let version = |program| workspace.version(program, &[]).unwrap_or_default();
        let toolchain = self.toolchain(profile).map(str::to_owned);
        Step {
            stamp: workspace.path(&format!("target/xtask/{}.stamp", self.name)),
            key: format!(
                "{} {} {:?} rustc {} wasm-pack {} {} {WASM_OPT_FLAGS:?} {:?} {ORDER:?}",
                self.glue,
                profile.name(),
                self.cargo_options,
                toolchain.unwrap_or_else(|| version("rustc")),
                version("wasm-pack"),
                self.rustflags(profile),
                self.wasm_opt_options,
            ),
            inputs: inputs.collect(),
            output: self.file(workspace),
        }
    }

    /// Whether it is a release with a standard library of its own.
    fn is_small(&self, profile: Profile) -> bool {
        self.own_library && matches!(profile, Profile::Release)
    }

    /// The compiler, where it is not the workspace's.
    fn toolchain(&self, profile: Profile) -> Option<&'static str> {
        (self.threads || self.is_small(profile)).then_some(NIGHTLY)
    }

    fn rustflags(&self, profile: Profile) -> String {
        let release = if self.is_small(profile) { RELEASE_RUSTFLAGS } else { "" };
        let threads = if self.threads { THREADS_RUSTFLAGS } else { "" };
        let copies = self.threads || !self.is_small(profile);
        let instructions = if copies { INSTRUCTIONS } else { INSTRUCTIONS_BUT_COPIES };
        [instructions, RUSTFLAGS, release, threads].join(" ")
    }

    fn binary(&self) -> String {
        format!("{}_bg.wasm", self.name)
    }

    fn file(&self, workspace: &Workspace) -> PathBuf {
        workspace.path(self.output).join(self.binary())
    }

    fn build(&self, workspace: &Workspace, profile: Profile) -> Result<()> {
        let name = profile.name();
        // Not straight into the package: wasm-pack adds a .gitignore there that npm would obey.
        let built = workspace.path("target/wasm-pack").join(self.name).join(name);
        let mut wasm_pack = workspace.command("wasm-pack");
        wasm_pack.args(["build", self.source, "--mode", "no-install", "--target", "web"]);
        wasm_pack.args(["--no-pack", "--no-opt", "--out-name", self.glue]);
        wasm_pack.args(["--profile", name, "--out-dir"]).arg(&built);
        wasm_pack.args(["--", "--features", self.features]);
        if self.threads || matches!(profile, Profile::Release) {
            wasm_pack.args(self.cargo_options);
        }
        let toolchain = self.toolchain(profile);
        let flags = encoded(workspace, &self.rustflags(profile), toolchain);
        wasm_pack.env("CARGO_ENCODED_RUSTFLAGS", flags);
        wasm_pack.envs(toolchain.map(|toolchain| ("RUSTUP_TOOLCHAIN", toolchain)));
        let label = format!("wasm-pack build {} as {} ({name})", self.source, self.name);
        progress::run(&label, wasm_pack)?;

        let output = workspace.path(self.output);
        fs::create_dir_all(&output)?;
        let glue = fs::read_to_string(built.join(format!("{}.js", self.glue)))?;
        let (script, declaration) = if self.threads {
            has_shared_memory(&glue)?;
            ("glue_threads", THREADS_DECLARATION.to_owned())
        } else {
            let types = format!("{}.d.ts", self.glue);
            fs::copy(built.join(&types), output.join(&types))?;
            ("glue", DECLARATION.replace("terrane.js", &format!("{}.js", self.glue)))
        };
        fs::write(output.join(format!("{script}.d.ts")), declaration)?;
        let module = built.join(format!("{}_bg.wasm", self.glue));
        match profile {
            Profile::Dev => drop(fs::copy(module, self.file(workspace))?),
            Profile::Release => {
                let optimized = built.join("optimized.wasm");
                let flags = [&WASM_OPT_FLAGS, self.wasm_opt_options].concat();
                wasm_opt(workspace, "wasm-opt -O3", &flags, &module, &optimized)?;
                let named = built.join("named.wasm");
                let shortened = import_names::in_module(&fs::read(optimized)?, &glue)?;
                fs::write(&named, named_by_place(&shortened)?)?;
                wasm_opt(workspace, "ordering functions", &ORDER, &named, &self.file(workspace))?;
            }
        }
        let glue = match profile {
            Profile::Dev => glue,
            Profile::Release => import_names::in_glue(&glue),
        };
        fs::write(output.join(format!("{script}.js")), as_function(&glue)?)?;
        Ok(())
    }
}

/// Runs wasm-opt, which comes with the packages of `bindings-js`, on a module.
///
/// # Errors
/// When it fails.
pub fn wasm_opt(
    workspace: &Workspace,
    label: &str,
    flags: &[&str],
    module: &Path,
    output: &Path,
) -> Result<()> {
    let wasm_opt = workspace.path(BINDINGS.folder).join("node_modules/.bin/wasm-opt");
    let mut command = workspace.command(wasm_opt);
    command.args(WASM_FEATURES).args(flags).arg(module).arg("-o").arg(output);
    progress::run(label, command).map(drop)
}

fn package_step(workspace: &Workspace) -> Result<Step> {
    Ok(Step {
        stamp: workspace.path("target/xtask/bindings.stamp"),
        key: String::new(),
        inputs: BINDINGS.sources(workspace)?,
        output: workspace.path("bindings-js/dist/index.js"),
    })
}

/// Prints what a page has to load; refuses a release that is larger than the bound.
fn weigh(workspace: &Workspace, profile: Profile) -> Result<()> {
    let bounds = GZIP_MAX.map(|bound| bound.to_string());
    let mut arguments = vec!["run", "--silent", "size"];
    if matches!(profile, Profile::Release) {
        arguments.push("--");
        arguments.extend(bounds.iter().map(String::as_str));
    }
    let size = workspace.npm(BINDINGS.folder, &arguments);
    progress::say(progress::run("npm run size in bindings-js", size)?.trim_end());
    Ok(())
}
