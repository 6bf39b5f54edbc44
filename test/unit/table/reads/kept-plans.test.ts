/** Plans of column lists are kept: a list counts as it is in each call, whatever changed it. */
import t from 'tap'
import {
  Database,
  MemoryFileSystem,
  type ColumnName,
  type Result,
} from '../../../../src/entries/index.js'
import { randomFrom, seed } from '../../storage/version/fixtures.js'

const families = ['f', 'g']
const qualifiers = ['', 'a', 'b', 'ba', 'c', 'd', 'é']
const names = families.flatMap((family) => qualifiers.map((qualifier) => `${family}:${qualifier}`))

function shown(result: Result): string[] {
  return result.cells().map(({ family, qualifier, value }) => {
    return `${family}:${qualifier.toString()}=${value.toString()}`
  })
}

/** What the names of a list leave of a row; a later mention wins over those before. */
function narrowed(row: readonly string[], columns: readonly ColumnName[]): string[] {
  if (columns.length === 0) return [...row]
  const wanted = new Map<string, Set<string> | undefined>()
  for (const column of columns.map(String)) {
    const [family, qualifier] = column.split(':') as [string, string | undefined]
    if (qualifier === undefined) wanted.set(family, undefined)
    else wanted.set(family, (wanted.get(family) ?? new Set()).add(qualifier))
  }
  return row.filter((cell) => {
    const [family, qualifier] = cell.split('=')[0].split(':')
    return wanted.has(family) && (wanted.get(family)?.has(qualifier) ?? true)
  })
}

void t.test('lists of columns that change between gets', async (t) => {
  t.comment(`seed ${seed}`)
  const random = randomFrom(seed)
  const below = (bound: number): number => Math.floor(random() * bound)
  const database = await Database.open('/db', { fileSystem: new MemoryFileSystem() })
  const table = await database.createTable('t', { families: { f: {}, g: {} } })
  for (let row = 0; row < 8; row++) {
    for (const name of names) {
      if (below(3) > 0) table.putSync({ row: `r${row}`, cells: { [name]: `${row}` } })
    }
    if (row === 4) await database.flush()
  }
  const full = Array.from({ length: 8 }, (_, row) => shown(table.getSync({ row: `r${row}` })))
  const lists: ColumnName[][] = Array.from({ length: 12 }, () => [])
  for (let step = 0; step < 3000; step++) {
    const list = lists[below(lists.length)]
    const name = below(12) === 0 ? families[below(2)] : names[below(names.length)]
    const column = below(10) === 0 ? Buffer.from(name) : name
    if (list.length === 0 || (below(3) === 0 && list.length < 12)) list.push(column)
    else if (below(3) === 0) list.shift()
    else list[below(list.length)] = column
    const row = below(8)
    for (const columns of [list, [...list]]) {
      const expected = narrowed(full[row], columns)
      const found = shown(table.getSync({ row: `r${row}`, columns }))
      if (String(found) === String(expected)) continue
      t.same(found, expected, `step ${step}: ${columns.map(String).join(' ')}`)
      return
    }
  }
  const holes = ['f:a', 'f:b']
  t.equal(table.getSync({ row: 'r0', columns: holes }).cells().length <= 2, true)
  holes.length = 3
  t.throws(() => table.getSync({ row: 'r0', columns: holes }), { code: 'ERR_INVALID_ARGUMENT' })
  await database.close()
})

void t.test('values are found in any order and by any spelling', async (t) => {
  const random = randomFrom(seed + 1)
  const below = (bound: number): number => Math.floor(random() * bound)
  const database = await Database.open('/db', { fileSystem: new MemoryFileSystem() })
  const settings = { versions: 3 }
  const table = await database.createTable('t', { families: { f: settings, g: settings } })
  for (let row = 0; row < 20; row++) {
    for (let timestamp = 1; timestamp <= 3; timestamp++) {
      for (const name of names) {
        if (below(2) === 0) continue
        table.putSync({ row: `r${row}`, timestamp, cells: { [name]: `${timestamp} ${name}` } })
      }
    }
  }
  const results = Array.from({ length: 20 }, (_, row) => {
    return table.getSync({ row: `r${row}`, versions: 1 + (row % 3) })
  })
  const answers = results.map((result) => {
    const values = new Map<string, string>()
    for (const cell of shown(result)) {
      const [name, value] = cell.split('=')
      if (!values.has(name)) values.set(name, value)
    }
    return values
  })
  for (let step = 0, at = 0; step < 6000; step++) {
    const which = below(results.length)
    at = below(3) === 0 ? below(names.length) : (at + below(2)) % names.length
    const name = names[at]
    const column = below(4) === 0 ? Buffer.from(name) : name
    const found = results[which].value(column)?.toString()
    const expected = answers[which].get(name)
    if (found === expected) continue
    t.equal(found, expected, `step ${step}: ${name} of row ${which}`)
    return
  }
  t.equal(results[0].value('f:unknown'), undefined)
  t.throws(() => results[0].has('h'), { code: 'ERR_NO_SUCH_COLUMN_FAMILY' })
  await database.close()
})
