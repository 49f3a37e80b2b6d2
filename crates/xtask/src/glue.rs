//! The JavaScript that wasm-bindgen writes beside a module, as a function: each call returns exports with
//! a state of their own, so that builds with one interface share it. What loads a module is left out: the
//! package does that itself.

use anyhow::{Context, Result, ensure};

/// The declaration of that function, beside the one that wasm-bindgen writes of the exports.
pub const DECLARATION: &str = "/** Exports that no module is set for yet. */
export default function (): typeof import(\"./terrane.js\");
";

/// The declaration of that function for the build with threads, which is given how to start its workers.
pub const THREADS_DECLARATION: &str = "/** What a worker of the pool gets its thread from. */
export interface PoolBuilder {
  numThreads(): number;
  /** The address of what a worker starts with. */
  receiver(): number;
  /** Gives all workers, which are ready, their threads. */
  build(): void;
}

/** Exports of the build with threads, that no module is set for yet. */
export default function (
  startWorkers: (
    module: WebAssembly.Module,
    memory: WebAssembly.Memory,
    builder: PoolBuilder,
  ) => Promise<void>,
): typeof import(\"./terrane.js\") & {
  initSync(of: {
    module: WebAssembly.Module;
    memory?: WebAssembly.Memory;
  }): import(\"./terrane.js\").InitOutput;
  /** Makes stores use a pool that runs `merges` merges at once. Returns the address of the bell. */
  use_pool(merges: number): number;
  /** Starts that many workers. */
  initThreadPool(threads: number): Promise<void>;
  /** Does what workers have asked for; returns whether background jobs need a turn. */
  serve(): boolean;
  /** Runs a worker's thread. */
  wbg_rayon_start_worker(receiver: number): void;
};
";

/// Part of the JavaScript of a module with shared memory.
const SHARED: &str = "shared:true";

/// Refuses the JavaScript of a module whose memory is not shared, or cannot grow.
///
/// # Errors
/// What is expected of it.
pub fn has_shared_memory(glue: &str) -> Result<()> {
    let memory = glue.split("new WebAssembly.Memory({").nth(1).unwrap_or_default();
    let memory = memory.split('}').next().unwrap_or_default();
    let shared = memory.contains("maximum:65536") && memory.contains(SHARED);
    ensure!(shared, "expected a memory that is shared and may grow, found {{{memory}}}");
    Ok(())
}

/// Parts for browsers without an interface that all supported ones have, or for callers that the package does not have,
/// each from its first mark through the next place of its second; and a mark of all their forms.
const NEEDLESS: [(&str, &str, &str); 4] = [
    ("if (!('encodeInto' in cachedTextEncoder)) {", "\n}\n", "'encodeInto' in"),
    ("    if (realloc === undefined) {", "\n    }\n", "realloc === undefined"),
    (
        "(typeof FinalizationRegistry === 'undefined')",
        "\n    : ",
        "FinalizationRegistry === 'undefined'",
    ),
    (" else {\n            console.warn('using deprecated", "\n        }", "using deprecated"),
];

/// The read of the clock, which asks the global object for `performance` each time; what is put in its place; and a
/// mark of all its forms.
const CLOCK: (&str, &str, &str) = ("= performance.now();", "= clock.now();", "performance.now");

/// The declaration of the view of a memory that is not shared, and what is put in its place.
const VIEW_DECLARATION: (&str, &str) =
    ("let cachedDataViewMemory0 = null;", "let cachedDataViewMemory0 = null;\nlet viewed = null;");

/// The view of a memory that is not shared, likewise. Whether the memory has grown is asked of a buffer by a call, and
/// of an array of bytes without one.
const VIEW: (&str, &str, &str) = (
    "if (cachedDataViewMemory0 === null || cachedDataViewMemory0.buffer.detached === true || \
     (cachedDataViewMemory0.buffer.detached === undefined && cachedDataViewMemory0.buffer !== \
     wasm.memory.buffer)) {\n        cachedDataViewMemory0 = new DataView(wasm.memory.buffer);",
    "if (viewed !== getUint8ArrayMemory0()) {\n        viewed = getUint8ArrayMemory0();\n        \
     cachedDataViewMemory0 = new DataView(viewed.buffer);",
    "new DataView(wasm.memory.buffer)",
);

/// Import of the function that starts the workers of a build with threads.
const START_WORKERS: &str = "import { startWorkers } from ";

/// Returns the module `glue` as one that exports a function.
///
/// # Errors
/// JavaScript of another form, as another version of wasm-bindgen may write it.
pub fn as_function(glue: &str) -> Result<String> {
    let (exports, rest) = split(glue, "async function __wbg_load(")?;
    let (_load, rest) = split(rest, "function initSync(")?;
    let (set_up, _load) = split(rest, "let __wbg_init_promise;")?;
    let mut names = vec!["initSync"];
    let mut body = String::new();
    let mut parameters = "";
    for line in exports.lines().chain(set_up.lines()) {
        if line.starts_with(START_WORKERS) {
            parameters = "startWorkers";
            continue;
        }
        // The package frees what it has of the module itself.
        if line.starts_with("if (Symbol.dispose)") {
            continue;
        }
        let exported = line.strip_prefix("export ");
        if let Some(declaration) = exported {
            let name = declaration.split([' ', '(']).nth(1).context("an export has a name")?;
            names.push(name);
        }
        body.push_str(exported.unwrap_or(line));
        body.push('\n');
    }
    for (from, to, rest) in NEEDLESS {
        body = without(body, from, to);
        is_changed(&body, from, rest)?;
    }
    let (slow, fast, rest) = CLOCK;
    body = body.replace(slow, fast);
    is_changed(&body, slow, rest)?;
    if !glue.contains(SHARED) {
        let ((declared, declares), (slow, fast, rest)) = (VIEW_DECLARATION, VIEW);
        body = body.replace(declared, declares).replace(slow, fast);
        is_changed(&body, slow, rest)?;
    }
    let has_clock = body.contains("clock.now()");
    let constants = if has_clock { "const clock = performance;\n" } else { "" };
    Ok(format!(
        "export default function ({parameters}) {{\n{constants}{body}return {{ {} }};\n}}\n",
        names.join(", ")
    ))
}

/// Cuts each part from `from` to `to` out of a text.
fn without(mut text: String, from: &str, to: &str) -> String {
    while let Some(start) = text.find(from) {
        let Some(length) = text.get(start..).and_then(|part| part.find(to)) else { break };
        text.replace_range(start..start + length + to.len(), "");
    }
    text
}

/// Refuses a text that still has `rest`, the mark of all forms of a pattern: another form would stay, and make the
/// module larger or slower.
fn is_changed(text: &str, pattern: &str, rest: &str) -> Result<()> {
    ensure!(
        !text.contains(rest),
        "expected `{pattern}` in the JavaScript of wasm-bindgen, found another form of `{rest}`: \
         change the pattern in crates/xtask/src/glue.rs"
    );
    Ok(())
}

/// Splits the text before `mark`.
fn split<'a>(glue: &'a str, mark: &str) -> Result<(&'a str, &'a str)> {
    let found = glue.find(mark).and_then(|at| glue.split_at_checked(at));
    found.with_context(|| format!("the JavaScript of wasm-bindgen has `{mark}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exports_are_returned_and_what_loads_is_left_out() {
        let glue = "export class A {\n}\nif (Symbol.dispose) A.prototype[Symbol.dispose] = A.prototype.free;\n\
            export function b(c) {\n}\nasync function __wbg_load(m) {\n}\n\
            function initSync(m) {\n}\nlet __wbg_init_promise;\nexport { initSync };\n";
        let expected = "export default function () {\nclass A {\n}\nfunction b(c) {\n}\n\
            function initSync(m) {\n}\nreturn { initSync, A, b };\n}\n";
        assert_eq!(as_function(glue).unwrap(), expected);
    }

    #[test]
    fn parts_that_nobody_needs_are_left_out() {
        let glue = "const A = (typeof FinalizationRegistry === 'undefined')\n    ? { b: () => {} }\n    \
            : new FinalizationRegistry(b);\nfunction c(realloc) {\n    if (realloc === undefined) {\n        \
            if (d) {\n        }\n        return 1;\n    }\n    return 2;\n}\n\
            async function __wbg_load(m) {\n}\nfunction initSync(m) {\n        if (e) {\n            f();\n        } \
            else {\n            console.warn('using deprecated parameters')\n        }\n}\n\
            let __wbg_init_promise;\n";
        let expected = "export default function () {\nconst A = new FinalizationRegistry(b);\n\
            function c(realloc) {\n    return 2;\n}\nfunction initSync(m) {\n        if (e) {\n            \
            f();\n        }\n}\nreturn { initSync };\n}\n";
        assert_eq!(as_function(glue).unwrap(), expected);
    }

    #[test]
    fn the_clock_is_kept_and_a_view_is_made_once_for_each_memory() {
        let glue = "const a = performance.now();\nlet cachedDataViewMemory0 = null;\n\
            function getDataViewMemory0() {\n    if (cachedDataViewMemory0 === null || \
            cachedDataViewMemory0.buffer.detached === true || (cachedDataViewMemory0.buffer.detached === undefined \
            && cachedDataViewMemory0.buffer !== wasm.memory.buffer)) {\n        cachedDataViewMemory0 = new \
            DataView(wasm.memory.buffer);\n    }\n    return cachedDataViewMemory0;\n}\n\
            async function __wbg_load(m) {\n}\nfunction initSync(m) {\n}\nlet __wbg_init_promise;\n";
        let expected = "export default function () {\nconst clock = performance;\nconst a = clock.now();\n\
            let cachedDataViewMemory0 = null;\nlet viewed = null;\nfunction getDataViewMemory0() {\n    \
            if (viewed !== getUint8ArrayMemory0()) {\n        viewed = getUint8ArrayMemory0();\n        \
            cachedDataViewMemory0 = new DataView(viewed.buffer);\n    }\n    return cachedDataViewMemory0;\n}\n\
            function initSync(m) {\n}\nreturn { initSync };\n}\n";
        assert_eq!(as_function(glue).unwrap(), expected);
    }

    #[test]
    fn another_form_of_a_pattern_is_refused() {
        let glue = |part: &str| {
            format!(
                "{part}\nasync function __wbg_load(m) {{\n}}\nfunction initSync(m) {{\n}}\nlet __wbg_init_promise;\n"
            )
        };
        let view = "if (!cachedDataViewMemory0) {\n    cachedDataViewMemory0 = new DataView(wasm.memory.buffer);\n}";
        for part in ["if (realloc === undefined) return;", "return performance.now();", view] {
            let refused = as_function(&glue(part)).unwrap_err().to_string();
            assert!(refused.contains("found another form of"), "{refused}");
        }
        let shared =
            format!("{view}\nnew WebAssembly.Memory({{initial:18,maximum:65536,shared:true}});");
        assert!(as_function(&glue(&shared)).is_ok());
    }

    #[test]
    fn what_starts_workers_is_a_parameter() {
        let glue = "import { startWorkers } from './a.js';\nexport function b(c) {\n}\n\
            async function __wbg_load(m) {\n}\nfunction initSync(m) {\n}\nlet __wbg_init_promise;\n";
        let function = as_function(glue).unwrap();
        assert!(function.starts_with("export default function (startWorkers) {\nfunction b(c)"));
        assert!(!function.contains("import"), "{function}");
    }

    #[test]
    fn a_memory_that_is_not_shared_or_cannot_grow_is_refused() {
        let of = |memory: &str| has_shared_memory(&format!("new WebAssembly.Memory({{{memory}}})"));
        assert!(of("initial:18,maximum:65536,shared:true").is_ok());
        for refused in ["initial:18,maximum:18,shared:true", "initial:18,maximum:65536", ""] {
            assert!(of(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn other_javascript_is_refused() {
        let error = as_function("export class A {\n}\nfunction initSync(m) {\n}\n").unwrap_err();
        assert!(error.to_string().contains("__wbg_load"), "{error}");
    }
}
