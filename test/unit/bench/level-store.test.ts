/** Batches of abstract-level's benchmark store: both forms write the same. */
import t from 'tap'
import { openLevel, type BatchForm } from '../../../bench/engines/level-store.js'
import { CellarLevel } from '../../../src/entries/level.js'
import { openMemoryDatabase } from '../../../src/entries/memory.js'

void t.test('an array and a chained batch write the same rows', async (t) => {
  for (const form of ['array', 'chained'] as const satisfies readonly BatchForm[]) {
    const database = await openMemoryDatabase()
    const options = { keyEncoding: 'buffer', valueEncoding: 'buffer' }
    const level = new CellarLevel<Buffer, Buffer>(database, options)
    const calls: number[] = []
    const watched = new Proxy(level, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name)
        if (typeof member !== 'function') return member
        return (...given: unknown[]): unknown => {
          if (name === 'batch') calls.push(given.length)
          return Reflect.apply(member, target, given)
        }
      },
    })
    const settings = { layout: 'row', columns: ['v'], durability: 'buffered' }
    const engine = await openLevel(watched, settings as never, form)
    const rows = ['a', 'b'].map((row) => ({
      row: Buffer.from(row),
      columns: [0],
      values: [Buffer.from(`of ${row}`)],
    }))
    await engine.fastest.putMany(rows)
    t.strictSame(calls, [form === 'array' ? 2 : 0], `${form} is the form of the batch`)
    const values: (Buffer | undefined)[] = [undefined]
    t.equal(await engine.fastest.get(Buffer.from('b'), values), true)
    t.equal(String(values[0]), 'of b')
    await engine.close()
    await database.close()
  }
})
