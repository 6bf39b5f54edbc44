import t from 'tap'
import { compareBytes, prefixSuccessor, readPrefix48, toBytes } from '../../../src/base/bytes.js'
import { readVarint, varintLength, writeVarint } from '../../../src/base/varint.js'

void t.test('compareBytes orders unsigned, a shorter prefix first', async (t) => {
  const cases: [number[], number[], number][] = [
    [[], [], 0],
    [[], [0], -1],
    [[0x7f], [0x80], -1],
    [[1, 2], [1, 2, 0], -1],
    [[255], [1, 255], 1],
  ]
  for (const [a, b, sign] of cases) {
    const result = compareBytes(Buffer.from(a), 0, a.length, Buffer.from(b), 0, b.length)
    t.equal(Math.sign(result), sign, `${JSON.stringify(a)} against ${JSON.stringify(b)}`)
  }
})

void t.test('prefixSuccessor drops trailing 0xFF bytes', async (t) => {
  t.same(prefixSuccessor(Buffer.from([1, 2])), Buffer.from([1, 3]))
  t.same(prefixSuccessor(Buffer.from([1, 0xff, 0xff])), Buffer.from([2]))
  t.equal(prefixSuccessor(Buffer.from([0xff])), undefined)
  t.equal(prefixSuccessor(Buffer.alloc(0)), undefined)
})

void t.test('readPrefix48 pads short strings with zeros and keeps the order', async (t) => {
  t.equal(readPrefix48(Buffer.from([1]), 0, 1), 2 ** 40)
  t.equal(readPrefix48(Buffer.from([0, 0, 0, 0, 0, 9, 7]), 0, 7), 9)
  t.equal(readPrefix48(toBytes('ÿÿÿ'), 0, 6), 0xc3bfc3bfc3bf)
})

void t.test('varints round-trip at their boundaries and reject overlong forms', async (t) => {
  const target = Buffer.alloc(8)
  for (const value of [0, 1, 127, 128, 16383, 16384, 2097151, 2097152, 2 ** 28, 2 ** 32 - 1]) {
    const end = writeVarint(target, 0, value)
    t.equal(end, varintLength(value))
    t.equal(readVarint(target, 0, end), value)
    t.equal(readVarint(target, 0, end - 1), -1, 'cut short')
  }
  t.equal(readVarint(Buffer.alloc(6, 0xff), 0, 6), -1)
})
