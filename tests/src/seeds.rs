//! Inputs that the fuzz targets decode: the parts of two small stores.

use crate::engines::small;
use crate::fixtures::Kind;
use crate::image::{Image, Structure};
use std::collections::BTreeMap;
use terrane::storage::fuzz::{
    ManifestId, Scan, decode_current, decode_record, decode_superblock, scan,
};
use terrane::table::BlockCursor;
use terrane::table::block::Block;
use terrane::table::block_codec::decode;
use terrane::table::footer::{FOOTER_BYTES, Footer, decode_directory};
use terrane::wal::batches;
use terrane::wal::record::HEADER_BYTES;

/// Inputs by the name of their target.
pub type Seeds = BTreeMap<&'static str, Vec<Vec<u8>>>;

/// Inputs for every target.
///
/// # Panics
/// If the stores cannot be made.
#[must_use]
pub fn seeds() -> Seeds {
    let mut seeds = Seeds::new();
    for kind in [Kind::MemoryDirectory, Kind::MemoryVolume] {
        let image = small(kind);
        let volume = kind == Kind::MemoryVolume;
        if volume {
            let slot = image.files["manifest"][..512].to_vec();
            let terrane::storage::fuzz::Slot::Valid(superblock) = decode_superblock(&slot) else {
                panic!("a sound superblock")
            };
            let from = superblock.manifest_offset as usize;
            let region = &image.files["manifest"][from..][..superblock.manifest_len as usize];
            let id = ManifestId { store: superblock.id, generation: superblock.generation };
            seeds.entry("superblock").or_default().push(slot);
            manifest(&mut seeds, &scan(region, id, "", 0).expect("sound"), region);
        } else {
            let current = image.files["CURRENT"].clone();
            let (store, generation, _) = decode_current(&current).expect("a sound CURRENT");
            seeds.entry("current").or_default().push(current);
            let bytes = &image.files[&format!("MANIFEST-{generation:06}")];
            manifest(
                &mut seeds,
                &scan(bytes, ManifestId { store, generation }, "", 0).expect("sound"),
                bytes,
            );
            logs(&mut seeds, &image);
            let tables = image.files.iter().filter(|(name, _)| name.ends_with(".sst"));
            tables.for_each(|(_, bytes)| table(&mut seeds, bytes));
        }
    }
    seeds
}

fn manifest(seeds: &mut Seeds, scan: &Scan<'_>, region: &[u8]) {
    // The first mirror, up to its fourth record.
    let end = (scan.end as usize).min(64 << 10);
    seeds.entry("manifest").or_default().push(region[..end].to_vec());
    for (_, payload) in &scan.records {
        seeds.entry("record").or_default().push(payload.to_vec());
        let edit = decode_record(payload).expect("a sound record").edit;
        seeds.entry("edit").or_default().extend(edit.map(<[u8]>::to_vec));
    }
    // What a later release may add: features, and a change with two more fields.
    let later = [&[14, 3, 0, 0x80, 1][..], &[1, 7, 9, 2, 0, 4, 2, 8, 8]];
    seeds.entry("edit").or_default().push(later.concat());
    // The greatest next number and sequence, which leave nothing to assign.
    let greatest = [&[0xff; 9][..], &[1]].concat();
    let last = [&[1, 10][..], &greatest, &[8, 11, 0], &greatest].concat();
    seeds.entry("edit").or_default().push(last);
}

fn logs(seeds: &mut Seeds, image: &Image) {
    for part in image.parts(Kind::MemoryDirectory) {
        if matches!(part.of, Structure::Proven | Structure::Unproven { .. }) {
            let bytes = &image.files[&part.file];
            let (from, to) = (part.range.start as usize, part.range.end as usize);
            let batches = batches(&bytes[from + HEADER_BYTES..to]).flatten();
            seeds.entry("batch").or_default().extend(batches.map(|(_, batch)| batch.to_vec()));
            // The log up to and including this record.
            seeds.entry("log").or_default().push(bytes[..to.next_multiple_of(8)].to_vec());
        }
    }
}

fn table(seeds: &mut Seeds, bytes: &[u8]) {
    let end = bytes.len() - FOOTER_BYTES;
    let last = bytes[end..].try_into().expect("80 bytes");
    let footer = Footer::decode(last, "table", bytes.len() as u64).expect("a sound table");
    let mut part = |at: u64, len: u64| {
        let stored = bytes[at as usize..][..len as usize].to_vec();
        seeds.entry("stored").or_default().push(stored.clone());
        decode(stored, footer.seed(), at).expect("a sound part")
    };
    let directory = part(footer.directory_offset, footer.directory_len.into());
    let sections = decode_directory(&directory, &footer).expect("a sound directory");
    let (mut blocks, mut filters, mut properties) = (Vec::new(), Vec::new(), Vec::new());
    for section in sections {
        match section.kind {
            1 => {}
            2 => blocks.push(part(section.offset, section.len)),
            _ => properties.push(part(section.offset, section.len)),
        }
    }
    for [at, filter, index] in handles(&blocks[0]) {
        if filter > 0 {
            filters.push(part(at, filter));
        }
        let index = part(at + filter, index);
        blocks.extend(handles(&index).into_iter().map(|[at, len, _]| part(at, len)));
        blocks.push(index);
    }
    seeds.entry("filter").or_default().extend(filters);
    seeds.entry("properties").or_default().extend(properties);
    seeds.entry("block").or_default().extend(blocks);
    seeds.entry("footer").or_default().push([&directory, &bytes[end..]].concat());
    seeds.entry("table").or_default().push(bytes.to_vec());
}

/// The three numbers of each index entry.
fn handles(index: &[u8]) -> Vec<[u64; 3]> {
    let mut index = BlockCursor::new(Block::decode(index.to_vec()).expect("sound").into());
    let mut handles = Vec::new();
    index.seek_first().expect("a sound index");
    while index.valid() {
        let mut d = terrane::coding::Decoder::new(index.value());
        handles.push([(); 3].map(|()| d.varint().expect("a sound index")));
        index.advance().expect("a sound index");
    }
    handles
}
