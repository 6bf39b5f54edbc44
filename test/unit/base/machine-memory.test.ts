import t from 'tap'
import { totalmem } from 'node:os'
import {
  availableMemoryBytes,
  cacheBytesFor,
  machineMemoryBytes,
} from '../../../src/base/machine-memory.js'

const mebibyte = 1024 * 1024

void t.test('a cache takes a quarter of the memory, at least 32 MiB', async (t) => {
  t.equal(cacheBytesFor(0), 32 * mebibyte)
  t.equal(cacheBytesFor(127 * mebibyte), 32 * mebibyte)
  t.equal(cacheBytesFor(1001 * mebibyte), 250 * mebibyte)
  t.equal(cacheBytesFor(64 * 1024 * mebibyte), 16 * 1024 * mebibyte)
})

void t.test('the memory of the machine is what the process may use of it', async (t) => {
  const bytes = machineMemoryBytes()
  t.ok(bytes > mebibyte && bytes <= totalmem(), `${bytes}`)
  const available = availableMemoryBytes()
  t.ok(available >= 0 && available <= bytes, `${available}`)
})
