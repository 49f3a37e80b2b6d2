//! Kinds of values: a keyspace has one for good, and a store needs the operator of its keyspaces.

use super::*;

#[test]
fn a_keyspace_takes_one_kind_of_value_for_good() {
    let vfs = faulty();
    let open = || {
        let options = options().merge_operator(append());
        Db::open_storage(directory(&vfs), options, slices()).unwrap()
    };
    let db = open();
    let names = ["counters", "texts", "sessions"];
    let keyspaces = names.map(|name| db.create_keyspace(name).unwrap());
    let write = |db: &Db, keyspace: &Keyspace, kind: usize| {
        let mut batch = WriteBatch::new();
        match kind {
            0 => batch.merge(keyspace, "k", Operand::Add(1)).unwrap(),
            1 => batch.merge(keyspace, "k", Operand::Custom(b"a")).unwrap(),
            _ => batch.put_expiring_at(keyspace, "k", "v", u64::MAX).unwrap(),
        }
        db.write(batch, Buffered)
    };
    let kinds = [ValueKind::Counters, ValueKind::MergeOperator, ValueKind::Expiring];
    let check = |db: &Db| {
        let stats = db.stats().unwrap().keyspaces;
        assert!(stats[1..].iter().map(|keyspace| keyspace.values).eq(kinds));
        for (has, name) in names.iter().enumerate() {
            let keyspace = db.open_keyspace(name).unwrap().unwrap();
            for kind in 0..3 {
                let written = write(db, &keyspace, kind);
                assert_eq!(written.is_ok(), kind == has, "{name} {kind}");
                if let Err(refused) = written {
                    assert!(matches!(refused.kind(), ErrorKind::InvalidArgument(_)), "{refused}");
                    assert!(refused.to_string().contains(&format!("{name:?}")), "{refused}");
                }
            }
        }
    };
    for (kind, keyspace) in keyspaces.iter().enumerate() {
        assert_eq!(db.stats().unwrap().keyspaces[kind + 1].values, ValueKind::Plain);
        write(&db, keyspace, kind).unwrap();
    }
    check(&db);
    drop((keyspaces, db));
    let db = open();
    check(&db);
    // Two in one batch of a keyspace that has none, of which nothing is written.
    let fresh = db.create_keyspace("fresh").unwrap();
    let mut batch = WriteBatch::new();
    batch.merge(&fresh, "a", Operand::Add(1)).unwrap();
    batch.put_expiring_at(&fresh, "b", "v", u64::MAX).unwrap();
    assert!(db.write(batch, Buffered).is_err());
    assert!(fresh.is_empty(..).unwrap());
    write(&db, &fresh, 2).unwrap();
    // Neither deletes nor compactions change it; dropped and created again, it takes what comes first.
    fresh.delete_range(.., Buffered).unwrap();
    fresh.compact_range(..).unwrap();
    assert!(write(&db, &fresh, 0).is_err());
    db.drop_keyspace("fresh").unwrap();
    let fresh = db.create_keyspace("fresh").unwrap();
    write(&db, &fresh, 0).unwrap();
}

#[test]
fn a_store_without_a_merge_operator_refuses_operands_of_one() {
    let (_, db, rows) = store();
    let refused = rows.merge("k", Operand::Custom(b"a"), Buffered).unwrap_err().to_string();
    assert!(refused.contains("Options::merge_operator") && refused.contains("none"), "{refused}");
    assert_eq!(rows.get("k").unwrap(), None);
    drop(db);
}

#[test]
fn a_store_opens_without_an_operator_once_no_keyspace_needs_it() {
    let vfs = faulty();
    let open = |options| Db::open_storage(directory(&vfs), options, slices());
    let db = open(options().merge_operator(append())).unwrap();
    let lists = db.create_keyspace("lists").unwrap();
    lists.merge("k", Operand::Custom(b"a"), Buffered).unwrap();
    db.close().unwrap();
    let refused = open(options()).err().unwrap().to_string();
    assert!(refused.contains("Options::merge_operator") && refused.contains("none"), "{refused}");
    let db = open(options().merge_operator(append())).unwrap();
    db.drop_keyspace("lists").unwrap();
    db.close().unwrap();
    let db = open(options()).unwrap();
    assert_eq!(db.keyspaces(), ["default"]);
}
