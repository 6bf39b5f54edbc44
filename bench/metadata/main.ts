/**
 * `npm run bench -- metadata`: Pulsar's metadata over Cellar beside a bare durable put, LMDB, the
 * layout of Pulsar's RocksDB store over LevelDB, ZooKeeper on this machine, Pulsar's own store, and
 * a `Map`; each in a process of its own. `--records` is the number of topics.
 */
import { join } from 'node:path'
import type { Suite, SuiteContext, SuiteOutcome } from '../harness/suite.js'
import { measureInChild } from '../harness/processes/subject-process.js'
import { compareSubjects, type SubjectName } from '../harness/subjects.js'
import type { SubjectTask } from './child.js'
import { measurePulsar, pulsarMissing } from './pulsar-rocksdb.js'
import { subjectEntries } from './subjects.js'
import type { Sizes } from './workloads.js'

const suiteName = 'metadata'
const script = join(import.meta.dirname, 'child.js')

function sizesOf(topics: number, isQuick: boolean): Sizes {
  if (isQuick) {
    return {
      topics: 500,
      single: 10,
      outstanding: 200,
      rounds: 1,
      listings: 5,
      listeners: 20,
      changes: 5,
      ephemeral: 300,
    }
  }
  return {
    topics,
    single: 1_000,
    outstanding: 10_000,
    rounds: 10,
    listings: 5_000,
    listeners: 1_000,
    changes: 1_000,
    ephemeral: Math.min(100_000, topics),
  }
}

interface Entry extends SubjectName {
  readonly isDurable: boolean
}

/** Pulsar's own store is a program of its own. */
function pulsarEntry({ options, progress }: SuiteContext): Entry {
  const version = (): string => {
    const isLeftOut = options.isQuick && options.engines.length === 0
    const reason = isLeftOut
      ? 'left out of quick runs'
      : pulsarMissing((text) => progress.note(text))
    if (reason !== undefined) throw new Error(reason)
    return 'pulsar-metadata 4.0.0'
  }
  return { name: 'pulsar-rocksdb', isPeer: false, isDurable: true, version }
}

function run(context: SuiteContext): Promise<SuiteOutcome> {
  const { records = 100_000, isQuick, cacheBytes } = context.options
  const sizes = sizesOf(records, isQuick)
  const pulsar = pulsarEntry(context)
  return compareSubjects<Entry>(
    {
      suite: suiteName,
      subjects: [...subjectEntries, pulsar],
      records: sizes.topics,
      durabilityOf: ({ isDurable }) => (isDurable ? 'sync' : 'none'),
      // The bare table knows no versions; the Java program checks its answers itself.
      apart: [pulsar.name, 'bare table.put'],
      measure(subject, directory) {
        if (subject === pulsar) return measurePulsar(directory, sizes)
        const settings = { directory, cacheBytes }
        return measureInChild<SubjectTask>(script, { subject: subject.name, settings, sizes })
      },
    },
    context,
  )
}

/** The suite. */
export const suite: Suite = {
  name: suiteName,
  summary: "Pulsar's metadata: Cellar, LMDB, ZooKeeper, Pulsar's RocksDB store and a Map",
  run,
}
