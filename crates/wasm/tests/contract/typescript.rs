//! Declarations as TypeScript: types with their docs, and tables for checks and decoders.

use crate::declared::{Body, Content, Declared, Field, Form, Kind, Variant};
use crate::names::{camel_case, kebab_case, type_name};
use std::collections::{BTreeMap, BTreeSet};

/// Declarations by their names in Rust.
pub type Types = BTreeMap<String, Declared>;

/// The types, in this order.
pub fn types(types: &Types, order: &[&str]) -> String {
    order.iter().map(|name| declaration(name, &types[*name])).collect()
}

fn declaration(name: &str, Declared { docs, body }: &Declared) -> String {
    let (head, name) = (comment("", docs), type_name(name));
    match body {
        Body::Struct(fields) => format!("\n{head}export interface {name} {}\n", object(fields, "")),
        Body::Enum(form, variants) => {
            let members: String = variants.iter().map(|one| member(form, one)).collect();
            format!("\n{head}export type {name} ={members};\n")
        }
    }
}

fn member(form: &Form, Variant { docs, name, content }: &Variant) -> String {
    let ty = match (form, content) {
        (Form::Tagged(tag), Content::Unit) => format!("{{\n      {tag}: \"{name}\";\n    }}"),
        (Form::Tagged(tag), Content::Fields(fields)) => {
            let tag = format!("      {tag}: \"{name}\";\n");
            let fields = fields_of(fields, name);
            format!("{{\n{tag}{}    }}", members(&fields, "      "))
        }
        (Form::Untagged, Content::Fields(fields)) => object(fields, "    "),
        (Form::External, Content::Unit) => format!("\"{name}\""),
        (Form::External, Content::Value(kind)) => {
            format!("{{ {}: {} }}", camel_case(name), of(kind))
        }
        _ => panic!("{name}: a form that the contract does not know"),
    };
    format!("\n{}  | {ty}", comment("  ", docs))
}

/// The fields that a listener receives: the package replaces the id of a keyspace by its name.
fn fields_of<'a>(fields: &'a [Field], variant: &str) -> Vec<&'a Field> {
    let named = variant.starts_with("keyspace-");
    fields.iter().filter(|field| !(named && field.name == "name")).collect()
}

fn object<'a>(fields: impl IntoIterator<Item = &'a Field>, indent: &str) -> String {
    let fields: Vec<_> = fields.into_iter().collect();
    format!("{{\n{}{indent}}}", members(&fields, &format!("{indent}  ")))
}

fn members(fields: &[&Field], indent: &str) -> String {
    let member = |field: &&Field| {
        let mark = if field.optional { "?" } else { "" };
        let docs = comment(indent, &field.docs);
        format!("{docs}{indent}{}{mark}: {};\n", field.name, of(&field.kind))
    };
    fields.iter().map(member).collect()
}

fn of(kind: &Kind) -> String {
    match kind {
        Kind::Number | Kind::Level => "number".to_owned(),
        Kind::Text | Kind::Keyspace => "string".to_owned(),
        Kind::Flag => "boolean".to_owned(),
        Kind::Bytes => "Uint8Array".to_owned(),
        Kind::Policy => "PolicyOptions".to_owned(),
        Kind::List(of_each) => format!("{}[]", of(of_each)),
        Kind::Tuple(kinds) => format!("[{}]", kinds.iter().map(of).collect::<Vec<_>>().join(", ")),
        Kind::OrNull(kind) => format!("{} | null", of(kind)),
        Kind::Map(value) => format!("Record<string, {}>", of(value)),
        Kind::Named(name) => type_name(name).to_owned(),
    }
}

/// A doc comment, on one line if it fits.
fn comment(indent: &str, docs: &str) -> String {
    if docs.is_empty() {
        return String::new();
    }
    let one = format!("{indent}/** {docs} */\n");
    if one.len() <= 110 {
        return one;
    }
    let mut lines = format!("{indent}/**\n");
    let mut line = format!("{indent} *");
    for word in docs.split(' ') {
        if line.len() + word.len() > 108 {
            lines += &format!("{line}\n");
            line = format!("{indent} *");
        }
        line += &format!(" {word}");
    }
    format!("{lines}{line}\n{indent} */\n")
}

/// Checks of every type and event, as constructors of `event-shape.ts` name them.
pub fn checks(types: &Types, order: &[&str]) -> String {
    let mut out = String::new();
    for name in order {
        let body = match &types[*name].body {
            Body::Struct(fields) => shape(&fields.iter().collect::<Vec<_>>()),
            Body::Enum(Form::Tagged(_), variants) => {
                let all = variants.iter().map(|one| {
                    let Content::Fields(fields) = &one.content else { panic!("{}", one.name) };
                    format!("\"{}\": {}", one.name, shape(&fields_of(fields, &one.name)))
                });
                let all = all.collect::<Vec<_>>().join(", ");
                out += &format!(
                    "\n/** The fields of each event. */\n\
                     export const EVENTS: Record<string, Record<string, Shape>> = {{ {all} }};\n"
                );
                continue;
            }
            Body::Enum(_, variants) if variants.iter().all(is_word) => {
                let words = variants.iter().map(|one| format!("\"{}\"", one.name));
                let words = words.collect::<Vec<_>>().join(", ");
                if name == &"Stall" {
                    out += "\n/** The reasons for which writes stall, in the engine's order. */";
                    out += &format!("\nexport const STALL_REASONS = [{words}] as const;\n");
                }
                // Later releases may have more words.
                out += &format!("\nconst {}: Shape = \"text\";\n", constant(name));
                continue;
            }
            Body::Enum(form, variants) => {
                let all = variants.iter().map(|one| match (&one.content, form) {
                    (Content::Unit, _) => format!("{{ is: \"{}\" }}", one.name),
                    (Content::Value(kind), _) => {
                        format!("{{ fields: {{ {}: {} }} }}", camel_case(&one.name), check(kind))
                    }
                    (Content::Fields(fields), _) => {
                        format!("{{ fields: {} }}", shape(&fields.iter().collect::<Vec<_>>()))
                    }
                });
                let all = all.collect::<Vec<_>>().join(", ");
                out += &format!("\nconst {}: Shape = {{ either: [{all}] }};\n", constant(name));
                continue;
            }
        };
        let export = if name == &"Run" { "export " } else { "" };
        let name = constant(name);
        out += &format!("\n{export}const {name}: Shape = {{ fields: {body} }};\n");
    }
    out
}

/// The required fields; those that may be missing are not checked.
fn shape(fields: &[&Field]) -> String {
    let all = fields.iter().filter(|field| !field.optional);
    let all: Vec<_> = all.map(|field| format!("{}: {}", field.name, check(&field.kind))).collect();
    format!("{{ {} }}", all.join(", "))
}

fn check(kind: &Kind) -> String {
    match kind {
        Kind::Number => "\"number\"".to_owned(),
        Kind::Level => "\"level\"".to_owned(),
        Kind::Text => "\"text\"".to_owned(),
        Kind::Flag => "\"flag\"".to_owned(),
        Kind::Bytes => "\"bytes\"".to_owned(),
        Kind::Keyspace => "\"keyspace\"".to_owned(),
        Kind::Policy => "\"policy\"".to_owned(),
        Kind::Map(_) => "\"object\"".to_owned(),
        Kind::List(each) => format!("{{ list: {} }}", check(each)),
        // A JavaScript list has one check for all its members.
        Kind::Tuple(kinds) => format!("{{ list: {} }}", check(&kinds[0])),
        Kind::OrNull(kind) => format!("{{ either: [{{ is: null }}, {}] }}", check(kind)),
        Kind::Named(name) => constant(name),
    }
}

fn is_word(variant: &Variant) -> bool {
    matches!(variant.content, Content::Unit)
}

fn constant(name: &str) -> String {
    kebab_case(type_name(name)).replace('-', "_").to_uppercase()
}

/// The fields of bytes and those of lists of bytes; a name means the same wherever it is declared.
pub fn byte_fields(types: &Types) -> [BTreeSet<String>; 2] {
    let mut sets: [BTreeSet<String>; 3] = Default::default();
    let mut add = |field: &Field| {
        let kind = match &field.kind {
            Kind::OrNull(kind) => kind,
            kind => kind,
        };
        let set = match kind {
            Kind::Bytes => 0,
            Kind::List(of) if matches!(**of, Kind::Bytes) => 1,
            // A decoder meets lists alone.
            Kind::List(_) | Kind::Tuple(_) => 2,
            _ => return,
        };
        sets[set].insert(field.name.clone());
    };
    for Declared { body, .. } in types.values() {
        match body {
            Body::Struct(fields) => fields.iter().for_each(&mut add),
            Body::Enum(_, variants) => {
                for one in variants {
                    if let Content::Fields(fields) = &one.content {
                        fields.iter().for_each(&mut add);
                    }
                }
            }
        }
    }
    let [bytes, lists, others] = sets;
    for name in &bytes {
        assert!(!lists.contains(name) && !others.contains(name), "{name}: bytes, and another list");
    }
    for name in &lists {
        assert!(!others.contains(name), "{name}: a list of bytes, and another list");
    }
    [bytes, lists]
}
