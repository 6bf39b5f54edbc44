import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { cryptoBytes, deviceBytes, systemRandomBytes } from '../../../src/base/random-bytes.js'

const device = '/dev/urandom'
const withoutDevice = process.platform === 'win32' && 'Windows has no such device'

for (const [name, source] of Object.entries({ systemRandomBytes, cryptoBytes })) {
  void t.test(`${name} gives the length that was asked for, and never the same bytes`, (t) => {
    for (const length of [0, 1, 16, 64 * 1024]) t.equal(source(length).length, length)
    const drawn = Array.from({ length: 1000 }, () => Buffer.from(source(16)).toString('hex'))
    t.equal(new Set(drawn).size, drawn.length)
    t.end()
  })
}

void t.test('all bytes of a device are filled', { skip: withoutDevice }, (t) => {
  const bytes = deviceBytes(device, 64 * 1024)!
  const counts = new Uint32Array(256)
  for (const byte of bytes) counts[byte]++
  // 256 are expected of each value, with a deviation of 16.
  t.ok(counts.every((count) => count > 96 && count < 416))
  t.end()
})

void t.test('what is no device gives nothing', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'cellar-random-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  const file = join(directory, 'urandom')
  t.equal(deviceBytes(file, 16), undefined, 'no file')
  writeFileSync(file, Buffer.alloc(1024))
  t.equal(deviceBytes(file, 16), undefined, 'a file')
  t.equal(deviceBytes(directory, 16), undefined, 'a directory')
  t.end()
})

void t.test('a device that ends gives nothing', { skip: withoutDevice }, (t) => {
  t.equal(deviceBytes('/dev/null', 16), undefined)
  t.end()
})
