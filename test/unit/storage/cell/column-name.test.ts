/** Names of columns by parts: what is remembered of earlier names never changes a later one. */
import t from 'tap'
import { parseColumn } from '../../../../src/storage/cell/column-name.js'
import { generatorOf } from '../../../crash/recovery.js'

const seed = Number(process.env['CELLAR_SEED'] ?? 20261129)

/** The form of a qualifier in keys, byte by byte. */
function escaped(qualifier: Uint8Array): Buffer {
  return Buffer.from([...qualifier].flatMap((byte) => (byte === 0 ? [0, 255] : [byte])))
}

void t.test(`parts in any order (seed ${seed})`, (t) => {
  const random = generatorOf(seed)
  const alphabet = [0, 255, 97, 98, 58]
  for (let i = 0; i < 50_000; i++) {
    const length = random() < 0.05 ? 62 + Math.floor(random() * 5) : Math.floor(random() * 4)
    const bytes = Array.from({ length }, () => alphabet[Math.floor(random() * alphabet.length)])
    const family = random() < 0.5 ? 'f' : 'g'
    const qualifier = random() < 0.5 ? Buffer.from(bytes) : Uint8Array.from(bytes)
    const name = random() < 0.5 ? family : Buffer.from(family)
    const parsed = parseColumn({ family: name, qualifier })
    if (parsed.family !== family || !escaped(qualifier).equals(parsed.escapedQualifier!)) {
      t.fail(`${family}, ${bytes.join()} became ${parsed.escapedQualifier!.toString('hex')}`)
      break
    }
    // The caller may use its memory again.
    qualifier.fill(99)
  }
  t.same(parseColumn({ family: 'f', qualifier: 'é' }).escapedQualifier, Buffer.from('é'))
  t.equal(parseColumn({ family: 'f' }).escapedQualifier, undefined)
  t.equal(parseColumn({ family: 'f', qualifier: '' }).escapedQualifier!.length, 0)
  t.end()
})

void t.test('a qualifier is not taken for another one that is stored like it', (t) => {
  const alphabet = [0, 97, 255]
  let qualifiers = [Buffer.alloc(0)]
  let wrong = 0
  for (let length = 1; length < 8; length++) {
    qualifiers = qualifiers.flatMap((start) => {
      return alphabet.map((byte) => Buffer.concat([start, Buffer.from([byte])]))
    })
    for (const first of qualifiers) {
      const second = escaped(first)
      for (const qualifier of [first, second]) {
        const parsed = parseColumn({ family: 'f', qualifier })
        if (!parsed.escapedQualifier!.equals(escaped(qualifier))) wrong++
      }
    }
  }
  t.equal(wrong, 0)
  t.end()
})

void t.test('a name that was parsed before is checked again', (t) => {
  const qualifier = Buffer.from('name')
  parseColumn({ family: 'f', qualifier })
  const unknown = { family: 'f', qualifier, other: 1 }
  t.throws(() => parseColumn(unknown), { code: 'ERR_INVALID_ARGUMENT' })
  const detached = new Uint8Array([1])
  parseColumn({ family: 'f', qualifier: detached })
  structuredClone(detached, { transfer: [detached.buffer] })
  t.throws(() => parseColumn({ family: 'f', qualifier: detached }), {
    code: 'ERR_INVALID_ARGUMENT',
  })
  t.throws(() => parseColumn({ family: '\ud800', qualifier }), { code: 'ERR_INVALID_ARGUMENT' })
  t.end()
})
