//! Declarations in the Rust sources, with the names that serde writes.

use crate::names::{camel_case, kebab_case};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use syn::{
    Attribute, Expr, ExprLit, Fields, GenericArgument, Item, Lit, Meta, PathArguments, Type,
};

/// The value of a field, as JavaScript receives it.
#[derive(Clone)]
pub enum Kind {
    Number,
    /// The index of a level.
    Level,
    Text,
    Flag,
    Bytes,
    /// The id of a keyspace, for which the package writes its name.
    Keyspace,
    /// The policy with its parameters, which `policies` generates.
    Policy,
    List(Box<Kind>),
    Tuple(Vec<Kind>),
    OrNull(Box<Kind>),
    Map(Box<Kind>),
    Named(String),
}

/// A field of a struct or of a variant.
pub struct Field {
    pub docs: String,
    pub name: String,
    /// Whether some builds or values leave it out.
    pub optional: bool,
    pub kind: Kind,
}

/// One of the values of an enum.
pub struct Variant {
    pub docs: String,
    pub name: String,
    pub content: Content,
}

/// The content of a variant.
pub enum Content {
    Unit,
    Value(Kind),
    Fields(Vec<Field>),
}

/// The form of an enum in JSON.
#[derive(PartialEq)]
pub enum Form {
    /// A member of this name has the variant's name.
    Tagged(String),
    /// The name of the variant is not written.
    Untagged,
    /// A unit is its name, and other variants are an object with one member.
    External,
}

/// A declared type.
pub enum Body {
    Struct(Vec<Field>),
    Enum(Form, Vec<Variant>),
}

/// A type and its docs.
pub struct Declared {
    pub docs: String,
    pub body: Body,
}

/// Returns the types of these names, which must all be declared in these files.
pub fn read(root: &Path, files: &[&str], names: &[&str]) -> BTreeMap<String, Declared> {
    let mut found = BTreeMap::new();
    for file in files {
        let text = fs::read_to_string(root.join(file)).unwrap();
        for item in syn::parse_file(&text).unwrap().items {
            let (name, declared) = match item {
                Item::Struct(item) => (item.ident, structure(&item.attrs, item.fields)),
                Item::Enum(item) => (item.ident.clone(), enumeration(item)),
                _ => continue,
            };
            if names.contains(&name.to_string().as_str()) {
                let before = found.insert(name.to_string(), declared());
                assert!(before.is_none(), "{name} is declared twice");
            }
        }
    }
    for name in names {
        assert!(found.contains_key(*name), "{name} is not declared in the files of the contract");
    }
    found
}

fn structure(attrs: &[Attribute], fields: Fields) -> Box<dyn FnOnce() -> Declared> {
    let docs = docs(attrs);
    Box::new(move || Declared { docs, body: Body::Struct(named(fields)) })
}

fn enumeration(item: syn::ItemEnum) -> Box<dyn FnOnce() -> Declared> {
    Box::new(move || {
        let serde = serde(&item.attrs);
        let form = match serde.get("tag") {
            Some(tag) => Form::Tagged(tag.clone()),
            None if serde.contains_key("untagged") => Form::Untagged,
            None => Form::External,
        };
        let kebab = serde.get("rename_all").is_some_and(|case| case == "kebab-case");
        let variants = item.variants.into_iter().map(|variant| {
            let written = serde_name(&variant.attrs);
            let ident = variant.ident.to_string();
            let name = written.unwrap_or_else(|| if kebab { kebab_case(&ident) } else { ident });
            Variant { docs: docs(&variant.attrs), name, content: content(variant.fields) }
        });
        Declared { docs: docs(&item.attrs), body: Body::Enum(form, variants.collect()) }
    })
}

fn content(fields: Fields) -> Content {
    match fields {
        Fields::Unit => Content::Unit,
        Fields::Named(_) => Content::Fields(named(fields)),
        Fields::Unnamed(fields) => {
            let mut kinds: Vec<_> = fields.unnamed.iter().map(|field| kind(&field.ty)).collect();
            let one = kinds.len() == 1;
            Content::Value(if one { kinds.remove(0) } else { Kind::Tuple(kinds) })
        }
    }
}

/// Fields that cross to JavaScript: not those that serde skips, nor those of native builds alone.
fn named(fields: Fields) -> Vec<Field> {
    let mut crossing = Vec::new();
    for field in fields {
        let serde = serde(&field.attrs);
        let builds = configuration(&field.attrs);
        let left_out_if = serde.get("skip_serializing_if");
        let is_native = builds.as_deref() == Some(NATIVE)
            || left_out_if.is_some_and(|condition| condition == "in_browser");
        if serde.contains_key("skip") || is_native {
            continue;
        }
        assert!(builds.is_none() || builds.as_deref() == Some(THREADS), "unknown cfg: {builds:?}");
        let left_out = left_out_if.is_some();
        let kind = match kind(&field.ty) {
            Kind::OrNull(kind) if left_out => *kind,
            kind => kind,
        };
        crossing.push(Field {
            docs: docs(&field.attrs),
            name: camel_case(
                &serde_name(&field.attrs).unwrap_or_else(|| field.ident.unwrap().to_string()),
            ),
            optional: left_out || builds.is_some(),
            kind,
        });
    }
    crossing
}

const NATIVE: &str = "not(target_arch=\"wasm32\")";
const THREADS: &str = "any(not(target_arch=\"wasm32\"),target_feature=\"atomics\")";

fn configuration(attrs: &[Attribute]) -> Option<String> {
    let attr = attrs.iter().find(|attr| attr.path().is_ident("cfg"))?;
    let Meta::List(list) = &attr.meta else { return None };
    Some(list.tokens.to_string().replace(' ', ""))
}

fn kind(ty: &Type) -> Kind {
    let path = match ty {
        Type::Path(path) => &path.path,
        Type::Reference(reference) => return kind(&reference.elem),
        _ => panic!("a type that the contract does not know"),
    };
    let last = path.segments.last().unwrap();
    let of: Vec<&Type> = match &last.arguments {
        PathArguments::AngleBracketed(arguments) => {
            arguments.args.iter().filter_map(type_of).collect()
        }
        _ => Vec::new(),
    };
    match (last.ident.to_string().as_str(), of.as_slice()) {
        (
            "u8" | "u32" | "u64" | "usize" | "Seq" | "Millis" | "TableId" | "RunId" | "FilterBits",
            [],
        ) => Kind::Number,
        ("LevelIndex", []) => Kind::Level,
        ("String" | "str", []) => Kind::Text,
        ("bool", []) => Kind::Flag,
        ("KeyspaceId", []) => Kind::Keyspace,
        ("PolicyOptions", []) => Kind::Policy,
        ("Arc" | "Box", [of]) => kind(of),
        ("Vec", [of]) if is_byte(of) => Kind::Bytes,
        ("Vec" | "Sequence", [of]) => Kind::List(Box::new(kind(of))),
        ("Option", [of]) => Kind::OrNull(Box::new(kind(of))),
        ("VecMap", [_, of]) => Kind::Map(Box::new(kind(of))),
        (name, []) => Kind::Named(name.to_owned()),
        (name, _) => panic!("{name}: a type that the contract does not know"),
    }
}

fn type_of(argument: &GenericArgument) -> Option<&Type> {
    if let GenericArgument::Type(ty) = argument { Some(ty) } else { None }
}

fn is_byte(ty: &Type) -> bool {
    matches!(ty, Type::Path(path) if path.path.is_ident("u8"))
}

/// The doc comment, without the brackets of links.
fn docs(attrs: &[Attribute]) -> String {
    let lines = attrs.iter().filter(|attr| attr.path().is_ident("doc")).filter_map(|attr| {
        let Meta::NameValue(pair) = &attr.meta else { return None };
        text(&pair.value)
    });
    let mut docs: String = lines.map(|line| line.trim().to_owned() + " ").collect();
    while let Some((before, rest)) = docs.split_once("](") {
        let (_, after) = rest.split_once(')').unwrap();
        docs = format!("{before}]{after}");
    }
    docs.replace("[`", "`").replace("`]", "`").replace(['[', ']'], "").trim().to_owned()
}

fn text(value: &Expr) -> Option<String> {
    if let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = value {
        Some(text.value())
    } else {
        None
    }
}

fn serde_name(attrs: &[Attribute]) -> Option<String> {
    serde(attrs).remove("rename")
}

/// Serde's attributes of an item. One that the contract does not know is refused.
fn serde(attrs: &[Attribute]) -> BTreeMap<String, String> {
    const KNOWN: [&str; 7] =
        ["tag", "rename_all", "rename", "skip", "untagged", "default", "skip_serializing_if"];
    let mut said = BTreeMap::new();
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("serde")) {
        attr.parse_nested_meta(|meta| {
            let name = meta.path.get_ident().unwrap().to_string();
            assert!(KNOWN.contains(&name.as_str()), "serde({name}): not known to the contract");
            let value = match meta.value() {
                Ok(value) => text(&value.parse()?).unwrap_or_default(),
                Err(_) => String::new(),
            };
            said.insert(name, value);
            Ok(())
        })
        .unwrap();
    }
    said
}
