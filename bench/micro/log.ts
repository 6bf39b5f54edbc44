/**
 * Micro-benchmarks of the write-ahead log on the real file system: append, commit, recovery scan.
 *
 * A call handles `mutationsPerCall` mutations, so multiply Benchmark.js's rate by it: the names say
 * so. REQUIRES `loadChecksums` to be done before `addTo`. Files are made in the system's directory
 * for temporary files and removed when the suite completes.
 */
import type Benchmark from 'benchmark'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { NodeFileSystem } from '../../src/storage/fs/node-fs.js'
import { scanRecordsSync } from '../../src/storage/record/record-scan.js'
import { Log } from '../../src/storage/wal/log.js'
import { varintLength, writeVarint } from '../../src/base/varint.js'
import { segmentName } from '../../src/storage/wal/segment-name.js'

/** Mutations that one call of a benchmark handles. */
export const mutationsPerCall = 1000

const mutationBytes = 150

/** A log in a directory of its own whose obsolete segments are removed as it grows. */
class Subject {
  readonly directory: string
  readonly fileSystem: NodeFileSystem
  readonly log: Log
  private readonly mutation: Buffer
  private sequence: number

  constructor() {
    this.directory = mkdtempSync(join(tmpdir(), 'cellar-log-'))
    this.fileSystem = new NodeFileSystem()
    this.mutation = Buffer.alloc(varintLength(mutationBytes) + mutationBytes, 'm')
    writeVarint(this.mutation, 0, mutationBytes)
    this.sequence = 0
    let fileNumber = 1
    this.log = Log.createSync({
      fileSystem: this.fileSystem,
      directory: this.directory,
      databaseId: Buffer.alloc(16, 'benchmark'),
      allocateFileNumber: () => fileNumber++,
    })
  }

  append(): void {
    this.log.append(this.mutation, 0, this.mutation.length, ++this.sequence)
  }

  trim(): void {
    this.log.removeObsolete(this.sequence)
  }
}

/** Adds the benchmarks to a suite. */
export function addTo(suite: Benchmark.Suite): void {
  const grouped = new Subject()
  const single = new Subject()
  const durable = new Subject()
  const written = new Subject()
  const scanned = new Subject()
  for (let i = 0; i < mutationsPerCall; i++) {
    scanned.append()
    scanned.log.commitSync('SYNC_WAL')
  }
  const path = join(scanned.directory, segmentName(1))

  suite.add(`log append, one write for all (x ${mutationsPerCall})`, () => {
    for (let i = 0; i < mutationsPerCall; i++) grouped.append()
    grouped.log.commitSync('SYNC_WAL')
    grouped.trim()
  })
  suite.add(`log append + commitSync SYNC_WAL (x ${mutationsPerCall})`, () => {
    for (let i = 0; i < mutationsPerCall; i++) {
      single.append()
      single.log.commitSync('SYNC_WAL')
    }
    single.trim()
  })
  suite.add(`log append + concurrent commit SYNC_WAL (x ${mutationsPerCall})`, {
    defer: true,
    fn: (deferred: Benchmark.Deferred) => {
      void commitAll(written, 'SYNC_WAL').then(() => deferred.resolve())
    },
  })
  suite.add(`log append + concurrent commit FSYNC_WAL (x ${mutationsPerCall})`, {
    defer: true,
    fn: (deferred: Benchmark.Deferred) => {
      void commitAll(durable, 'FSYNC_WAL').then(() => deferred.resolve())
    },
  })
  suite.add(`log scan, one frame a mutation (x ${mutationsPerCall})`, () => {
    scanRecordsSync(scanned.fileSystem, path, { kind: 'log', fileNumber: 1 }, () => undefined)
  })
  suite.on('complete', () => {
    for (const subject of [grouped, single, durable, written, scanned]) {
      void subject.log.close().then(() => rmSync(subject.directory, { recursive: true }))
    }
  })
}

async function commitAll(subject: Subject, durability: 'SYNC_WAL' | 'FSYNC_WAL'): Promise<void> {
  let last: Promise<void> | undefined
  for (let i = 0; i < mutationsPerCall; i++) {
    subject.append()
    last = subject.log.commit(durability)
  }
  await last
  subject.trim()
}
