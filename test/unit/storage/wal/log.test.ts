import t, { type Test } from 'tap'
import { CellarError } from '../../../../src/base/errors.js'
import { loadChecksums } from '../../../../src/storage/codec/checksum.js'
import { withMembers } from '../../../helpers/planted.js'
import { FaultyFileSystem } from '../../../doubles/faulty-fs.js'
import { scanRecordsSync } from '../../../../src/storage/record/record-scan.js'
import type { SimulatedDisk } from '../../../doubles/simulated-disk.js'
import type { FileSystem } from '../../../../src/storage/fs/types.js'
import {
  append,
  directory,
  newFileSystem,
  openLog,
  range,
  readFiles,
  recover,
  seededRandom,
  withFiles,
} from './support.js'
import { SyncFailureFileSystem } from './sync-failure-fs.js'

function counted() {
  const fs = newFileSystem()
  const counts: Record<string, number> = {}
  fs.beforeOperation = ({ kind }) => {
    counts[kind] = (counts[kind] ?? 0) + 1
  }
  return { fs, counts }
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

void t.test('a thousand concurrent FSYNC_WAL commits use one write and one sync', async (t) => {
  await loadChecksums()
  const { fs, counts } = counted()
  const log = openLog(fs)
  counts.write = 0
  const promises = new Set<Promise<void>>()
  for (let sequence = 1; sequence <= 1000; sequence++) {
    append(log, sequence)
    promises.add(log.commit('FSYNC_WAL'))
  }
  t.equal(promises.size, 1, 'one promise for all')
  await Promise.all(promises)
  t.equal(counts.write, 1)
  t.equal(counts.sync, 1)
  t.same(recover(fs.crash('dropUnsynced', () => 0)).sequences, range(1, 1000))
  await log.commit('FSYNC_WAL')
  t.equal(counts.sync, 1, 'nothing new, no sync')
})

void t.test('commits that come while a sync runs share the next one', async (t) => {
  await loadChecksums()
  const { fs, counts } = counted()
  const log = openLog(fs)
  const order: string[] = []
  append(log, 1)
  const first = log.commit('FSYNC_WAL').then(() => order.push('first'))
  await Promise.resolve()
  t.equal(counts.sync, 1, 'it has begun')
  const later: Promise<unknown>[] = []
  for (let sequence = 2; sequence <= 20; sequence++) {
    append(log, sequence)
    later.push(log.commit('FSYNC_WAL').then(() => order.push('later')))
    await Promise.resolve()
  }
  t.equal(counts.sync, 1)
  t.equal(order.length, 0)
  await Promise.all([first, ...later])
  t.equal(counts.sync, 2)
  t.same(order, ['first', ...Array.from({ length: 19 }, () => 'later')])
})

void t.test('SYNC_WAL is written in a microtask, ASYNC_WAL by the end of the turn', async (t) => {
  await loadChecksums()
  const { fs, counts } = counted()
  const log = openLog(fs)
  counts.write = 0
  append(log, 1)
  await log.commit('ASYNC_WAL')
  t.equal(counts.write, 0)
  await turn()
  t.equal(counts.write, 1)
  append(log, 2)
  const promise = log.commit('SYNC_WAL')
  append(log, 3)
  t.equal(log.commit('SYNC_WAL'), promise)
  t.equal(counts.write, 1)
  await promise
  t.equal(counts.write, 2)
  t.same(recover(withFiles(readFiles(fs))).sequences, [1, 2, 3])
  append(log, 4)
  await log.commit('SKIP_WAL')
  log.commitSync('ASYNC_WAL')
  t.equal(counts.write, 2)
  log.commitSync('SYNC_WAL')
  t.equal(counts.write, 3)
  await turn()
  t.equal(counts.write, 3, 'the commit had taken it along')
  t.equal(counts.sync, undefined)
})

void t.test('promises resolve in the order of their groups', async (t) => {
  await loadChecksums()
  const log = openLog(newFileSystem())
  const order: string[] = []
  const waits: Promise<unknown>[] = []
  for (let round = 0; round < 3; round++) {
    append(log, round + 1)
    waits.push(log.commit('FSYNC_WAL').then(() => order.push(`fsync ${round}`)))
    waits.push(log.commit('SYNC_WAL').then(() => order.push(`sync ${round}`)))
    await turn()
    await turn()
  }
  await Promise.all(waits)
  t.same(order, [0, 1, 2].map((round) => [`sync ${round}`, `fsync ${round}`]).flat())
})

void t.test('commitSync blocks until it is as durable as asked', async (t) => {
  await loadChecksums()
  const fs = newFileSystem()
  const log = openLog(fs)
  append(log, 1)
  log.commitSync('FSYNC_WAL')
  append(log, 2)
  log.commitSync('SYNC_WAL')
  t.same(recover(fs.crash('dropUnsynced', () => 0)).sequences, [1])
  t.same(recover(fs.crash('keepAll', () => 0)).sequences, [1, 2])
  log.roll()
  append(log, 3)
  log.commitSync('FSYNC_WAL')
  t.same(recover(fs.crash('dropUnsynced', () => 0)).sequences, [1, 2, 3])
})

void t.test('large groups take several frames, large mutations one', async (t) => {
  await loadChecksums()
  const fs = newFileSystem()
  const log = openLog(fs)
  for (let sequence = 1; sequence <= 40; sequence++) append(log, sequence, 100_000)
  append(log, 41, 5_000_000)
  append(log, 42)
  t.equal(log.bytesTotal > 9_000_000, true)
  log.commitSync('SYNC_WAL')
  const lengths: number[] = []
  const expected = { kind: 'log' as const, fileNumber: 1 }
  scanRecordsSync(fs, `${directory}/000001.log`, expected, (_payload, start, end) => {
    lengths.push(end - start)
  })
  t.equal(lengths.length, 6)
  t.ok(lengths.slice(0, 4).every((length) => length <= 1024 * 1024))
  t.same(recover(fs).sequences, range(1, 42))
})

void t.test('a segment that is long enough is continued in a new one', async (t) => {
  await loadChecksums()
  const fs = newFileSystem()
  const log = openLog(fs, 1, { segmentBytesMax: 1000 })
  for (let sequence = 1; sequence <= 100; sequence++) {
    append(log, sequence, 50)
    await log.commit(sequence % 5 === 0 ? 'FSYNC_WAL' : 'SYNC_WAL')
  }
  t.ok(log.segments.length >= 6)
  t.equal(log.segments.at(-2)?.lastSequence, log.segments.at(-1)!.lastSequence - (100 % 11))
  await log.close()
  const { recovered, sequences } = recover(fs)
  t.same(sequences, range(1, 100))
  t.same(
    recovered.segments.map(({ fileNumber }) => fileNumber),
    range(1, log.segments.length),
  )
})

void t.test('roll goes on in a new segment and makes the old one durable by itself', async (t) => {
  await loadChecksums()
  const fs = newFileSystem()
  const log = openLog(fs)
  log.roll()
  t.equal(log.segments.length, 1, 'an empty segment is not rolled')
  append(log, 1)
  log.roll()
  t.same(
    log.segments.map(({ fileNumber, lastSequence }) => [fileNumber, lastSequence]),
    [
      [1, 1],
      [2, 1],
    ],
  )
  append(log, 2)
  log.commitSync('SYNC_WAL')
  const claims = () =>
    scanRecordsSync(fs, `${directory}/000002.log`, { kind: 'log', fileNumber: 2 }, () => undefined)
  t.equal(claims().predecessorsSyncedKnown, false, 'the sync of the old one still runs')
  await turn()
  await turn()
  t.same(recover(fs.crash('dropUnsynced', () => 0)).sequences, [1], 'without any commit')
  append(log, 3)
  log.commitSync('SYNC_WAL')
  t.equal(claims().predecessorsSyncedKnown, true)
  log.roll()
  append(log, 4)
  await log.commit('FSYNC_WAL')
  t.same(recover(fs.crash('dropUnsynced', () => 0)).sequences, [1, 2, 3, 4])
})

void t.test(
  'obsolete segments are removed from the oldest on, never the current one',
  async (t) => {
    await loadChecksums()
    const fs = newFileSystem()
    const log = openLog(fs)
    for (let sequence = 1; sequence <= 40; sequence++) {
      append(log, sequence)
      if (sequence % 10 === 0) log.roll()
    }
    t.equal(log.floorFor(9), 1)
    t.equal(log.floorFor(10), 2)
    t.equal(log.floorFor(29), 3)
    t.equal(log.floorFor(1000), 5)
    const before = log.bytesTotal
    log.removeObsolete(29)
    t.same(
      log.segments.map(({ fileNumber }) => fileNumber),
      [3, 4, 5],
    )
    t.ok(log.bytesTotal < before)
    t.same(fs.listSync(directory).sort(), ['000003.log', '000004.log', '000005.log'])
    log.removeObsolete(1000)
    t.same(fs.listSync(directory), ['000005.log'])
    append(log, 41)
    await log.commit('FSYNC_WAL')
    await log.close()
    t.same(recover(fs, { fileNumberFloor: 5 }).sequences, [41])
  },
)

void t.test('recovered segments go the same way as own ones', async (t) => {
  await loadChecksums()
  const fs = newFileSystem()
  const old = openLog(fs)
  append(old, 1)
  old.roll()
  append(old, 2)
  old.commitSync('SYNC_WAL')
  const { recovered } = recover(fs)
  const log = openLog(fs, 3, { recovered: recovered.segments, predecessor: recovered.predecessor })
  append(log, 3)
  log.commitSync('SYNC_WAL')
  t.same(
    log.segments.map(({ fileNumber }) => fileNumber),
    [1, 2, 3],
  )
  t.same(recover(fs).sequences, [1, 2, 3])
  log.removeObsolete(1)
  t.same(recover(fs, { fileNumberFloor: 2 }).sequences, [2, 3])
})

void t.test('a file that cannot be removed is reported and forgotten', async (t) => {
  await loadChecksums()
  const fs = newFileSystem()
  const errors: unknown[] = []
  const log = openLog(fs, 1, { onError: (error) => errors.push(error) })
  append(log, 1)
  log.roll()
  fs.unlinkSync(`${directory}/000001.log`)
  log.removeObsolete(1)
  t.equal(errors.length, 1)
  t.equal(log.segments.length, 1)
  t.equal(log.failure, undefined)
})

void t.test('close writes and syncs what is pending and notes the clean end', async (t) => {
  await loadChecksums()
  const fs = newFileSystem()
  const log = openLog(fs)
  append(log, 1)
  const commit = log.commit('FSYNC_WAL')
  append(log, 2)
  const closing = log.close()
  t.equal(log.close(), closing)
  t.throws(() => append(log, 3), { code: 'ERR_CLOSED' })
  t.throws(() => log.commit('SYNC_WAL'), { code: 'ERR_CLOSED' })
  t.throws(() => log.commitSync('SYNC_WAL'), { code: 'ERR_CLOSED' })
  t.throws(() => log.roll(), { code: 'ERR_CLOSED' })
  await Promise.all([commit, closing])
  t.same(recover(fs.crash('dropUnsynced', () => 0)).sequences, [1, 2])
  const path = `${directory}/000001.log`
  const scan = scanRecordsSync(fs, path, { kind: 'log', fileNumber: 1 }, () => undefined)
  t.equal(scan.syncedLengthKnown, scan.fileLength - 33)
})

void t.test('a refused mutation leaves the log as it was', async (t) => {
  await loadChecksums()
  const log = openLog(newFileSystem())
  append(log, 1)
  t.throws(() => log.append(Buffer.alloc(0), 0, 2 ** 30, 2), { code: 'ERR_TOO_LARGE' })
  append(log, 2)
  await log.commit('SYNC_WAL')
  t.equal(log.segments[0].lastSequence, 2)
})

/** Appends, commits, rolls and closes on a file system that fails; checks what was promised. */
async function failingRun(
  t: Test,
  name: string,
  fs: FileSystem,
  inner: SimulatedDisk,
  hasFailed: () => boolean,
): Promise<boolean> {
  let reported = 0
  const log = openLog(fs, 1, { onFailure: () => reported++ })
  let acknowledged = 0
  let failed = false
  for (let sequence = 1; sequence <= 12; sequence++) {
    try {
      append(log, sequence, 100)
      if (sequence % 4 === 0) log.roll()
      if (sequence % 3 === 0) log.commitSync('FSYNC_WAL')
      else await log.commit(sequence % 3 === 1 ? 'FSYNC_WAL' : 'SYNC_WAL')
      if (failed) t.fail(`${name}: goes on at ${sequence}`)
      if (sequence % 3 !== 2) acknowledged = sequence
    } catch (error) {
      if (!(error instanceof CellarError)) throw error
      if (failed && error.code !== 'ERR_POISONED') t.fail(`${name}: ${error.code}`)
      failed = true
    }
  }
  const closed = await log.close().then(
    () => true,
    () => false,
  )
  if (!hasFailed()) return false
  if (reported !== 1) t.fail(`${name}: reported ${reported} times`)
  if (log.failure === undefined || (!failed && closed)) t.fail(`${name}: unnoticed`)
  for (const policy of ['dropUnsynced', 'keepAll'] as const) {
    const { sequences } = recover(inner.crash(policy, () => 0))
    if (sequences.length < acknowledged) t.fail(`${name}: lost after ${policy}`)
    if (sequences.join() !== range(1, sequences.length).join()) t.fail(`${name}: not a prefix`)
  }
  return true
}

void t.test('any failing call poisons the log and never acknowledges', async (t) => {
  await loadChecksums()
  let failures = 0
  // Opening the log takes two calls of open, one of write and one of syncDirectory.
  for (const kind of ['open', 'write', 'syncDirectory'] as const) {
    for (let failAt = kind === 'open' ? 3 : 2, failed = true; failed; failAt++) {
      const inner = newFileSystem()
      const only = (operation: { kind: string }) => operation.kind === kind
      const fault = { failAt, errno: 'EIO' as const, only, partialWrite: true }
      const fs = new FaultyFileSystem(inner, fault)
      failed = await failingRun(t, `${kind} ${failAt}`, fs, inner, () => fs.failures > 0)
      if (failed) failures++
    }
  }
  t.ok(failures > 15, `${failures} failures`)
})

void t.test('any failing sync poisons the log and never acknowledges', async (t) => {
  await loadChecksums()
  let failures = 0
  for (const pages of ['reverted', 'clean'] as const) {
    for (let failAt = 1, failed = true; failed; failAt++) {
      const inner = newFileSystem()
      const fs = new SyncFailureFileSystem(inner, failAt, pages)
      const hasFailed = () => fs.syncCount >= failAt
      failed = await failingRun(t, `sync ${failAt}, ${pages}`, fs, inner, hasFailed)
      if (failed) failures++
    }
  }
  t.ok(failures > 20, `${failures} failures`)
})

void t.test(
  'a failed sync rejects all who wait, with the error itself, and is not retried',
  async (t) => {
    await loadChecksums()
    const inner = newFileSystem()
    const fs = new FaultyFileSystem(inner)
    const log = openLog(fs)
    append(log, 1)
    await log.commit('FSYNC_WAL')
    fs.arm({ failAt: 1, errno: 'EIO', only: ({ kind }) => kind === 'sync', syncFailure: 'clean' })
    append(log, 2)
    const first = log.commit('FSYNC_WAL')
    const written = log.commit('SYNC_WAL')
    await written
    await t.rejects(first, { code: 'ERR_IO' })
    t.equal(fs.callCount, 1)
    t.throws(() => log.commit('FSYNC_WAL'), { code: 'ERR_POISONED', cause: { code: 'ERR_IO' } })
    t.throws(() => append(log, 3), { code: 'ERR_POISONED' })
    await log.close()
    t.equal(fs.callCount, 1, 'close does not sync either')
  },
)

void t.test('a background sync that fails poisons the log although nobody waits', async (t) => {
  await loadChecksums()
  for (const kind of ['sync', 'syncDirectory'] as const) {
    const fs = new FaultyFileSystem(newFileSystem())
    const log = openLog(fs)
    append(log, 1)
    fs.arm({ failAt: 1, errno: 'EIO', only: (operation) => operation.kind === kind })
    log.roll()
    await new Promise((resolve) => setTimeout(resolve, 5))
    t.match(log.failure, { code: 'ERR_IO' }, kind)
    t.throws(() => append(log, 2), { code: 'ERR_POISONED' })
    await log.close()
  }
})

void t.test('a sync that fails beside one that goes on poisons the log at once', async (t) => {
  await loadChecksums()
  const fs = new FaultyFileSystem(newFileSystem())
  const log = openLog(fs)
  append(log, 1)
  let end = (): void => undefined
  const held = new Promise<void>((resolve) => (end = resolve))
  fs.syncDirectory = () => held
  fs.arm({ failAt: 1, errno: 'EIO', only: ({ kind }) => kind === 'sync' })
  log.roll()
  append(log, 2)
  const commit = log.commit('FSYNC_WAL')
  commit.catch(() => undefined)
  await turn()
  await turn()
  t.match(log.failure, { code: 'ERR_IO' }, 'while the directory is synced')
  t.throws(() => append(log, 3), { code: 'ERR_POISONED', cause: { code: 'ERR_IO' } })
  let closed = false
  const closing = log.close().then(() => (closed = true))
  await turn()
  t.notOk(closed, 'a close ends after the sync that runs: the directory is unlocked then')
  end()
  await t.rejects(commit, { code: 'ERR_IO' })
  await closing
})

void t.test('a failing call of a close leaves no file of the log open', async (t) => {
  await loadChecksums()
  for (let failAt = 1, failures = 1; failures > 0; failAt++) {
    const memory = newFileSystem()
    let open = 0
    const counted = withMembers<FileSystem>(memory, {
      openSync: (path, mode) => {
        const file = memory.openSync(path, mode)
        open++
        return withMembers(file, { closeSync: () => void (open--, file.closeSync()) })
      },
    })
    const fs = new FaultyFileSystem(counted)
    const log = openLog(fs)
    append(log, 1)
    await log.commit('FSYNC_WAL')
    fs.arm({ failAt, errno: 'EIO' })
    await log.close().catch((error: unknown) => t.match(error, { code: 'ERR_IO' }))
    failures = fs.failures
    t.equal(open, 0, `call ${failAt}`)
  }
})

void t.test('nothing is acknowledged as durable before the name of its segment is', async (t) => {
  await loadChecksums()
  const fs = newFileSystem()
  const log = openLog(fs)
  append(log, 1)
  await log.commit('FSYNC_WAL')
  log.roll()
  append(log, 2)
  let acknowledged = false
  const commit = log.commit('FSYNC_WAL').then(() => (acknowledged = true))
  while (!acknowledged) {
    await new Promise((resolve) => setImmediate(resolve))
    const { sequences } = recover(fs.crash('dropUnsynced', () => 0))
    if (acknowledged) t.same(sequences, [1, 2])
    const { length } = log.readable('FSYNC_WAL').at(-1)!
    if (length > 0) t.same(sequences, [1, 2], 'what counts as durable is so')
  }
  await commit
  await log.close()
})

void t.test('no segment is begun before the name of the last one is durable', async (t) => {
  await loadChecksums()
  const fs = newFileSystem()
  const log = openLog(fs)
  for (let sequence = 1; sequence <= 5; sequence++) {
    append(log, sequence)
    log.roll()
  }
  for (const policy of ['dropUnsynced', 'anyDirectoryOperations'] as const) {
    for (let seed = 0; seed < 20; seed++) {
      const { sequences } = recover(fs.crash(policy, seededRandom(seed)))
      t.same(sequences, range(1, sequences.length), `${policy}, seed ${seed}`)
    }
  }
  await log.close()
})
