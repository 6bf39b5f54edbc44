import t from 'tap'
import { totalmem } from 'node:os'
import {
  availableMemoryBytes,
  cacheBytesFor,
  machineMemoryBytes,
  memtableBytesFor,
} from '../../../src/base/machine-memory.js'

const mebibyte = 1024 * 1024

void t.test('a cache takes a quarter of the memory, at least 32 MiB', async (t) => {
  t.equal(cacheBytesFor(0), 32 * mebibyte)
  t.equal(cacheBytesFor(127 * mebibyte), 32 * mebibyte)
  t.equal(cacheBytesFor(1001 * mebibyte), 250 * mebibyte)
  t.equal(cacheBytesFor(64 * 1024 * mebibyte), 16 * 1024 * mebibyte)
})

void t.test('memtables take a sixteenth of the memory, from 32 to 512 MiB', async (t) => {
  t.equal(memtableBytesFor(0), 32 * mebibyte)
  t.equal(memtableBytesFor(511 * mebibyte), 32 * mebibyte)
  t.equal(memtableBytesFor(1001 * mebibyte), 62 * mebibyte)
  t.equal(memtableBytesFor(8 * 1024 * mebibyte), 512 * mebibyte)
  t.equal(memtableBytesFor(64 * 1024 * mebibyte), 512 * mebibyte)
})

void t.test('the memory of the machine is what the process may use of it', async (t) => {
  const bytes = machineMemoryBytes()
  t.ok(bytes > mebibyte && bytes <= totalmem(), `${bytes}`)
  const available = availableMemoryBytes()
  t.ok(available >= 0 && available <= bytes, `${available}`)
})
