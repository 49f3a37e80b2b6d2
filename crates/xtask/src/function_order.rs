//! The order of a module's functions, which decides how well the module compresses: gzip finds again
//! what was within the last 32 KiB, so functions of like code become neighbours.
//!
//! 1. A function is the set of the six-byte strings in its code.
//! 2. The largest function is the first. The next is always the one that has the most of its strings,
//!    for its length, in the last [`WINDOW`] bytes. A string of few functions counts more than one that
//!    most neighbours would have.
//! 3. wasm-opt orders functions by name, and renumbers them wherever they are used: as a name each
//!    gets its place.

use crate::wasm_bytes::{Import, imports, leb, section, sized, take_leb, take_sized};
use anyhow::{Context, Result};
use std::collections::{HashMap, VecDeque};

/// Bytes of code compared with a candidate to follow.
const WINDOW: usize = 24 << 10;

/// The bytes of a string.
const STRING: usize = 6;

/// Returns a module, which has no names, with the names by which its functions will be ordered.
///
/// # Errors
/// No module, or one with parts that the browser builds do not have.
pub fn named_by_place(module: &[u8]) -> Result<Vec<u8>> {
    let (_header, mut sections) = module.split_at_checked(8).context("a module has a header")?;
    let (mut imported, mut bodies) = (0, Vec::new());
    while let Some(id) = sections.split_off_first() {
        let content = take_sized(&mut sections)?;
        match id {
            2 => imported = imported_functions(content)?,
            10 => bodies = function_bodies(content)?,
            _ => {}
        }
    }
    let mut names = leb(bodies.len());
    for (place, function) in by_likeness(&bodies).into_iter().enumerate() {
        names.extend(leb(imported + function));
        names.extend(sized(format!("{place:06}").as_bytes()));
    }
    let section_of_names = section(0, &[sized(b"name"), section(1, &names)].concat());
    Ok([module, &section_of_names].concat())
}

/// The functions' numbers in their new order.
fn by_likeness(bodies: &[&[u8]]) -> Vec<usize> {
    let strings: Vec<Vec<&[u8]>> = bodies.iter().map(|body| strings(body)).collect();
    let mut functions: HashMap<&[u8], Vec<usize>> = HashMap::new();
    for (function, strings) in strings.iter().enumerate() {
        for string in strings {
            functions.entry(string).or_default().push(function);
        }
    }
    let mut shared = vec![0_u64; bodies.len()];
    let mut in_window: HashMap<&[u8], u32> = HashMap::new();
    let (mut window, mut window_bytes) = (VecDeque::new(), 0);
    let mut left: Vec<usize> = (0..bodies.len()).collect();
    let mut order = Vec::new();
    let length = |function: usize| bodies.get(function).map_or(0, |body| body.len());
    let mut next = left.iter().copied().max_by_key(|&function| length(function));
    while let Some(function) = next {
        left.retain(|&other| other != function);
        order.push(function);
        window.push_back(function);
        window_bytes += length(function);
        for &string in strings.get(function).into_iter().flatten() {
            let count = in_window.entry(string).or_default();
            *count += 1;
            if *count == 1 {
                add(&mut shared, functions.get(string), u64::wrapping_add);
            }
        }
        while window_bytes > WINDOW && window.len() > 1 {
            let Some(oldest) = window.pop_front() else { break };
            window_bytes -= length(oldest);
            for &string in strings.get(oldest).into_iter().flatten() {
                if let Some(count) = in_window.get_mut(string) {
                    *count -= 1;
                    if *count == 0 {
                        add(&mut shared, functions.get(string), u64::wrapping_sub);
                    }
                }
            }
        }
        let score = |function: usize| {
            let found = shared.get(function).copied().unwrap_or_default();
            found as f64 / (length(function) as f64 + 10.0).powf(0.75)
        };
        next = left.iter().copied().max_by(|&a, &b| score(a).total_cmp(&score(b)));
    }
    order
}

/// Changes what the `functions` of a string share with the window by the string's weight.
fn add(shared: &mut [u64], functions: Option<&Vec<usize>>, change: fn(u64, u64) -> u64) {
    let functions = functions.map_or(&[][..], Vec::as_slice);
    let weight = (1000.0 / (functions.len() as f64).powf(0.6)) as u64;
    for &function in functions {
        if let Some(count) = shared.get_mut(function) {
            *count = change(*count, weight);
        }
    }
}

/// The different strings of a function.
fn strings(body: &[u8]) -> Vec<&[u8]> {
    let mut strings: Vec<_> = body.windows(STRING).collect();
    strings.sort_unstable();
    strings.dedup();
    strings
}

/// Returns the number of imported functions; besides them there may be a memory.
fn imported_functions(section: &[u8]) -> Result<usize> {
    let imports = imports(section)?;
    Ok(imports.iter().filter(|import| import.kind == Import::FUNCTION).count())
}

fn function_bodies(mut section: &[u8]) -> Result<Vec<&[u8]>> {
    let count = take_leb(&mut section)?;
    (0..count).map(|_| take_sized(&mut section)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_like_code_become_neighbours() {
        let [long, short, other] = [b"load add store call, and more", &b"load add store"[..], b"x"];
        let unlike = b"nothing of this is there";
        assert_eq!(by_likeness(&[other, unlike, long, short])[..2], [2, 3]);
    }

    #[test]
    fn each_function_is_ordered_once_even_where_the_window_is_full() {
        let bodies: Vec<Vec<u8>> = (0..9).map(|n| vec![n % 3; WINDOW / 2]).collect();
        let bodies: Vec<&[u8]> = bodies.iter().map(Vec::as_slice).collect();
        let mut order = by_likeness(&bodies);
        order.sort_unstable();
        assert_eq!(order, (0..9).collect::<Vec<_>>());
    }

    #[test]
    fn names_count_from_the_first_function_that_is_not_imported() {
        let header = b"\0asm\x01\0\0\0";
        let imports = section(2, &[&leb(1), &sized(b"m")[..], &sized(b"f"), &[0, 0]].concat());
        let code = section(10, &[leb(2), sized(b"short"), sized(b"a longer one")].concat());
        let module = [header, &imports[..], &code].concat();
        let names = [leb(2), leb(2), sized(b"000000"), leb(1), sized(b"000001")].concat();
        let section_of_names = section(0, &[sized(b"name"), section(1, &names)].concat());
        assert_eq!(named_by_place(&module).unwrap(), [module, section_of_names].concat());
    }

    #[test]
    fn an_imported_memory_is_no_function() {
        let memory = |limits: &[u8]| [&sized(b"m")[..], &sized(b"memory"), &[2], limits].concat();
        let function = [&sized(b"m")[..], &sized(b"f"), &[0, 0]].concat();
        for limits in [[&[0][..], &leb(17)].concat(), [&[3][..], &leb(17), &leb(65_536)].concat()] {
            let imports = [leb(2), memory(&limits), function.clone()].concat();
            assert_eq!(imported_functions(&imports).unwrap(), 1);
        }
        assert!(imported_functions(&[leb(1), sized(b"m"), sized(b"t"), vec![1]].concat()).is_err());
    }

    #[test]
    fn a_module_cut_within_a_section_is_refused() {
        let code = section(10, &[leb(1), sized(&[0; 300])].concat());
        for cut in 1..code.len() {
            let header = b"\0asm\x01\0\0\0";
            assert!(named_by_place(&[header, &code[..cut]].concat()).is_err(), "cut at {cut}");
        }
    }
}
