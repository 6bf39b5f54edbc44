import t from 'tap'
import { totalmem } from 'node:os'
import { cacheBytesFor, machineMemoryBytes } from '../../../src/base/machine-memory.js'

const mebibyte = 1024 * 1024

void t.test('a cache takes a sixteenth of the memory, within bounds', async (t) => {
  t.equal(cacheBytesFor(128 * mebibyte), 32 * mebibyte)
  t.equal(cacheBytesFor(512 * mebibyte), 32 * mebibyte)
  t.equal(cacheBytesFor(1000 * mebibyte), 62 * mebibyte)
  t.equal(cacheBytesFor(8192 * mebibyte), 512 * mebibyte)
  t.equal(cacheBytesFor(64 * 1024 * mebibyte), 1024 * mebibyte)
})

void t.test('the memory of the machine is what the process may use of it', async (t) => {
  const bytes = machineMemoryBytes()
  t.ok(bytes > mebibyte && bytes <= totalmem(), `${bytes}`)
})
