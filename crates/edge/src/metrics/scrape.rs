//! The doors' counters and the store's statistics at one moment, in the text format of Prometheus.

use crate::shared::Shared;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeGaugeValue, EncodeMetric, prometheus_text,
};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::{MetricType, TypedMetric};
use prometheus_client::registry::Registry;
use std::fmt;
use std::sync::Arc;
use terrane::Stats;
use terrane::stats::{JobStats, KeyspaceStats, LevelStats, ReadCounts, WaitStats};

/// Returns the metrics of a server as text.
pub(crate) fn text(shared: Arc<Shared>, stats: Stats) -> Result<String, fmt::Error> {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Scrape { shared, stats }));
    let mut text = String::new();
    prometheus_text::encode(&mut text, &registry)?;
    Ok(text)
}

struct Scrape {
    shared: Arc<Shared>,
    stats: Stats,
}

impl fmt::Debug for Scrape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scrape").field("stats", &self.stats).finish_non_exhaustive()
    }
}

impl Collector for Scrape {
    fn encode(&self, encoder: DescriptorEncoder) -> fmt::Result {
        let mut out = Out(encoder);
        self.doors(&mut out)?;
        self.backup(&mut out)?;
        self.replica(&mut out)?;
        self.store(&mut out)?;
        self.background(&mut out)?;
        self.reads(&mut out)?;
        self.waits(&mut out)?;
        self.keyspaces(&mut out)
    }
}

impl Scrape {
    fn doors(&self, out: &mut Out) -> fmt::Result {
        let Shared { metrics, limits, health, started, .. } = &*self.shared;
        out.gauge("terrane_uptime_seconds", "Time since the start", started.elapsed().as_secs())?;
        let ready = u64::from(health.problem().is_none());
        out.gauge("terrane_ready", "Whether writes are expected to succeed", ready)?;
        let open = limits.connections() as u64;
        out.gauge("terrane_connections", "Open connections of both doors", open)?;
        let max = limits.connections_max() as u64;
        out.gauge("terrane_connections_max", "Most connections of both doors", max)?;
        let accepted = metrics.connections_accepted.get();
        out.counter("terrane_connections_accepted", "Connections that were accepted", accepted)?;
        let refused = metrics.connections_refused.get();
        out.counter("terrane_connections_refused", "Connections without a place", refused)?;
        let held = limits.held_bytes() as u64;
        out.gauge("terrane_buffer_bytes", "Memory of requests and replies under way", held)?;
        let commands = metrics.resp_commands.get();
        out.counter("terrane_resp_commands", "Commands of Redis's protocol", commands)?;
        out.metric("terrane_http_requests", "Requests of HTTP", &metrics.http_requests)?;
        out.metric(
            "terrane_http_request_duration_seconds",
            "Time until the answer to a request of HTTP started",
            &metrics.http_seconds,
        )
    }

    fn backup(&self, out: &mut Out) -> fmt::Result {
        let Some(backup) = &self.shared.backup else { return Ok(()) };
        let s = backup.status();
        let lag = s.lag.as_secs_f64();
        out.gauge("terrane_backup_lag_seconds", "Time since everything was backed up", lag)?;
        out.gauge("terrane_backup_lag_batches", "Batches not backed up yet", s.lag_batches)?;
        out.gauge("terrane_backup_sequence", "Last sequence number backed up", s.sequence)?;
        out.counter("terrane_backup_uploads", "Uploads of the backup", s.uploads)?;
        out.counter("terrane_backup_uploaded_bytes", "Bytes that the backup uploaded", s.bytes)?;
        out.counter("terrane_backup_failures", "Failures of the backup", s.failures)?;
        out.counter("terrane_backup_bases", "Bases of the backup", s.bases)?;
        let fenced = u64::from(s.fenced.is_some());
        out.gauge("terrane_backup_fenced", "Whether another server continues the backup", fenced)?;
        let (done, total) = s.base.unwrap_or_default();
        out.gauge("terrane_backup_base_bytes", "Bytes of tables of the next base", total)?;
        out.gauge("terrane_backup_base_done_bytes", "Bytes of these that are uploaded", done)
    }

    fn replica(&self, out: &mut Out) -> fmt::Result {
        let Some(replica) = &self.shared.replica else { return Ok(()) };
        let lag = replica.lag();
        let name = "terrane_replica_caught_up";
        let help = "Whether the replica was current with its present rows";
        out.gauge(name, help, u64::from(lag.is_some()))?;
        if let Some(lag) = lag {
            let help = "Time since the replica was current";
            out.gauge("terrane_replica_lag_seconds", help, lag.as_secs_f64())?;
        }
        let applied = replica.sequence().unwrap_or(0);
        let help = "Sequence number of the last write of the source that was applied";
        out.gauge("terrane_replica_sequence", help, applied)
    }

    fn store(&self, out: &mut Out) -> fmt::Result {
        let s = &self.stats;
        out.gauge("terrane_entries", "Entries of tables and memtables", s.entries)?;
        out.gauge("terrane_last_sequence", "Sequence number of the last write", s.last_sequence)?;
        out.gauge("terrane_live_bytes", "Bytes that files need", s.space.live)?;
        out.gauge("terrane_file_bytes", "Bytes that files take", s.space.taken)?;
        out.gauge("terrane_wal_bytes", "Bytes of the log", s.wal_bytes)?;
        out.gauge("terrane_wal_files", "Files of the log", s.wal_files as u64)?;
        out.gauge("terrane_manifest_bytes", "Bytes of the manifest", s.manifest_bytes)?;
        out.gauge("terrane_quarantine_bytes", "Bytes in quarantine", s.quarantine_bytes)?;
        let age = s.oldest_snapshot.map_or(0, |snapshot| snapshot.age_micros);
        out.gauge("terrane_oldest_snapshot_seconds", "Age of the oldest snapshot", seconds(age))?;
        out.counter("terrane_user_bytes", "Bytes of keys and values written", s.user_bytes)?;
        out.counter("terrane_flushed_bytes", "Bytes that flushes wrote", s.flushed_bytes)?;
        out.counter("terrane_merge_read_bytes", "Bytes that merges read", s.merge_read_bytes)?;
        out.counter(
            "terrane_merge_written_bytes",
            "Bytes that merges wrote",
            s.merge_written_bytes,
        )?;
        out.counter("terrane_stalls", "Stalls of writes", s.stalls)
    }

    fn background(&self, out: &mut Out) -> fmt::Result {
        let background = &self.stats.background;
        let kinds = [
            ("flush", background.flushes),
            ("merge", background.merges),
            ("removal", background.removals),
        ];
        let of = |figure: fn(&JobStats) -> u64| {
            kinds.map(|(kind, jobs)| ([("kind", kind)], figure(&jobs)))
        };
        out.gauges("terrane_jobs_queued", "Background jobs that wait", of(|jobs| jobs.queued))?;
        out.gauges("terrane_jobs_running", "Background jobs that run", of(|jobs| jobs.running))?;
        out.counters("terrane_jobs", "Background jobs that ended", of(|jobs| jobs.ended))?;
        let busy = kinds.map(|(kind, jobs)| ([("kind", kind)], seconds(jobs.busy_micros)));
        out.counters("terrane_jobs_busy_seconds", "Time of background jobs", busy)
    }

    fn reads(&self, out: &mut Out) -> fmt::Result {
        let kinds = [("get", self.stats.gets), ("scan", self.stats.scans)];
        let of = |figure: fn(&ReadCounts) -> u64| {
            kinds.map(|(kind, counts)| ([("kind", kind)], figure(&counts)))
        };
        out.counters("terrane_reads", "Reads of tables", of(|counts| counts.operations))?;
        out.counters("terrane_read_blocks", "Blocks read", of(|counts| counts.blocks))?;
        let cached = of(|counts| counts.blocks_cached);
        out.counters("terrane_read_blocks_cached", "Blocks read from the cache", cached)?;
        let bytes = of(|counts| counts.bytes_read);
        out.counters("terrane_read_bytes", "Bytes read from files", bytes)
    }

    fn waits(&self, out: &mut Out) -> fmt::Result {
        let waits = &self.stats.waits;
        let reasons = [
            ("append", waits.append),
            ("sync", waits.sync),
            ("group", waits.group),
            ("lock", waits.lock),
            ("wal", waits.wal),
            ("memory", waits.memory),
            ("memory-slowdown", waits.memory_slowdown),
            ("memtables", waits.memtables),
            ("memtables-slowdown", waits.memtables_slowdown),
            ("level0", waits.level0),
            ("level0-slowdown", waits.level0_slowdown),
            ("compaction-bytes", waits.compaction_bytes),
            ("compaction-bytes-slowdown", waits.compaction_bytes_slowdown),
            ("range-deletes", waits.range_deletes),
        ];
        let counts =
            reasons.map(|(reason, wait): (_, WaitStats)| ([("reason", reason)], wait.count));
        out.counters("terrane_write_waits", "Waits of writes", counts)?;
        let times = reasons.map(|(reason, wait)| ([("reason", reason)], seconds(wait.micros)));
        out.counters("terrane_write_wait_seconds", "Time that writes waited", times)
    }

    fn keyspaces(&self, out: &mut Out) -> fmt::Result {
        let of = |figure: fn(&KeyspaceStats) -> u64| {
            self.stats
                .keyspaces
                .iter()
                .map(move |keyspace| ([("keyspace", keyspace.name.clone())], figure(keyspace)))
        };
        let bytes = of(|keyspace| keyspace.memtable_bytes);
        out.gauges("terrane_memtable_bytes", "Bytes of memtables", bytes)?;
        let entries = of(|keyspace| keyspace.memtable_entries);
        out.gauges("terrane_memtable_entries", "Entries of memtables", entries)?;
        let of = |figure: fn(&LevelStats) -> u64| {
            self.stats.keyspaces.iter().flat_map(move |keyspace| {
                keyspace.levels.iter().enumerate().map(move |(level, stats)| {
                    let labels =
                        [("keyspace", keyspace.name.clone()), ("level", level.to_string())];
                    (labels, figure(stats))
                })
            })
        };
        out.gauges("terrane_level_bytes", "Bytes of a level", of(|level| level.bytes))?;
        out.gauges("terrane_level_entries", "Entries of a level", of(|level| level.entries))?;
        let tables = of(|level| level.tables as u64);
        out.gauges("terrane_level_tables", "Tables of a level", tables)?;
        out.gauges("terrane_level_runs", "Runs of a level", of(|level| level.runs as u64))
    }
}

fn seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}

/// The encoder, with a call for each sort of metric.
struct Out<'a>(DescriptorEncoder<'a>);

impl Out<'_> {
    fn metric(&mut self, name: &str, help: &str, metric: &impl EncodeMetric) -> fmt::Result {
        let encoder = self.0.encode_descriptor(name, help, None, metric.metric_type())?;
        metric.encode(encoder)
    }

    fn gauge(&mut self, name: &str, help: &str, value: impl EncodeGaugeValue) -> fmt::Result {
        self.metric(name, help, &ConstGauge::new(value))
    }

    fn counter(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        self.metric(name, help, &ConstCounter::new(value))
    }

    fn gauges<L: AsRef<str>, const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = ([(&'static str, L); N], u64)>,
    ) -> fmt::Result {
        let values = values.into_iter().map(|(labels, value)| (labels, ConstGauge::new(value)));
        self.family(name, help, ConstGauge::<u64>::TYPE, values)
    }

    fn counters<L: AsRef<str>, V, const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = ([(&'static str, L); N], V)>,
    ) -> fmt::Result
    where
        ConstCounter<V>: EncodeMetric,
    {
        let values = values.into_iter().map(|(labels, value)| (labels, ConstCounter::new(value)));
        self.family(name, help, MetricType::Counter, values)
    }

    fn family<L: AsRef<str>, const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        kind: MetricType,
        metrics: impl Iterator<Item = ([(&'static str, L); N], impl EncodeMetric)>,
    ) -> fmt::Result {
        let mut encoder = self.0.encode_descriptor(name, help, None, kind)?;
        for (labels, metric) in metrics {
            let labels = labels.each_ref().map(|(name, value)| (*name, value.as_ref()));
            metric.encode(encoder.encode_family(&labels)?)?;
        }
        Ok(())
    }
}
