/**
 * The bytes of a search index, as FORMAT.md describes them; and bytes that nobody has written.
 *
 * @runs long
 */
import t from 'tap'
import type { Database } from '../../../../src/api/index.js'
import { openMemoryDatabase } from '../../../../src/entries/memory.js'
import { EmbeddedSearch, type SearchDocument } from '../../../../src/systems/repository/index.js'

const table = 'repository.search.default'

const documents: SearchDocument[] = [
  { key: 'b', fields: { a_t: ['one two one', 'two'], n_l: ['-1'] } },
  { key: 'a', fields: { a_t: ['two'], f_d: ['1.5'], s_s: ['x', 'ä'] } },
  { key: 'c', fields: { y_b: ['true'], z_dt: ['1970-01-01T00:00:00.258Z'] } },
]

async function rowsOf(database: Database): Promise<Record<string, string>> {
  const rows = await database.table(table).scan().all()
  const cells = rows.flatMap((row) => row.cells())
  return Object.fromEntries(
    cells.map(({ row, family, qualifier, value }) => {
      const name = family.toString() === 'c' ? row.toString() : row.toString('hex')
      return [`${name} ${family.toString()}:${qualifier.toString()}`, value.toString('hex')]
    }),
  )
}

void t.test('golden bytes', async (t) => {
  const database = await openMemoryDatabase()
  const search = await EmbeddedSearch.open(database)
  await search.update({ documents })
  await search.commit()
  await search.update({ removedKeys: ['b'] })
  await search.commit()
  const long = Array.from({ length: 1100 }, () => 'x').join(' ')
  await search.update({ documents: [{ key: 'd', fields: { a_t: [long] } }] })
  await search.commit()
  await search.close()
  const rows = await rowsOf(database)
  t.equal(rows['000000010200000000 s:0000'].length, 2 * (1 + 2 + 1 + 1100), 'long postings')
  for (const [name, bytes] of Object.entries(rows)) {
    if (bytes.length > 300) rows[name] = `${bytes.slice(0, 24)}…`
  }
  t.same(rows, golden)
  const again = await EmbeddedSearch.open(database)
  const { hits } = await again.search({ query: '*:*' })
  t.same(
    hits.map(({ key }) => key),
    ['a', 'c', 'd'],
  )
  await again.close()
})

/** Hexadecimal digits by row and column. */
const golden = {
  'commit c:m': '01' + '02' + '02' + '00' + '01',
  'commit c:d00000000': '01' + '01',
  // Header: format, documents, fields with kind, documents and words, first term, first document.
  '000000000000000000 s:0000':
    '01' +
    '03' +
    '07' +
    '03615f74000205' +
    '03665f64030100' +
    '086c696c792e6b6579010300' +
    '036e5f6c020100' +
    '03735f73010100' +
    '03795f62050100' +
    '047a5f6474040100' +
    '010500006f6e65' +
    '0100',
  // Terms: one (b twice), two (a; b at 1 and 103), 1.5, the keys, -1, x, ä, true, 258 ms.
  '000000000100000000 s:0000':
    '0005' +
    '00006f6e65' +
    '010a' +
    '020202' +
    '0002' +
    '0203' +
    '74776f' +
    '020e' +
    '03010002' +
    '000166' +
    '0109' +
    '01bff8000000000000' +
    '010200' +
    '0102' +
    '0261' +
    '010200' +
    '0201' +
    '62' +
    '010201' +
    '0201' +
    '63' +
    '010202' +
    '0109' +
    '037fffffffffffffff' +
    '010201' +
    '0102' +
    '0478' +
    '010200' +
    '0202' +
    'c3a4' +
    '010200' +
    '0102' +
    '0501' +
    '010202' +
    '0109' +
    '068000000000000102' +
    '010202',
  '000000000300000000 s:0000':
    '1f' +
    '01610303615f74010374776f03665f640103312e3503735f7302017802c3a4' +
    '20' +
    '01620203615f74020b6f6e652074776f206f6e650374776f036e5f6c01022d31' +
    '2c' +
    '01630203795f62010474727565047a5f64740118313937302d30312d30315430303a30303a30302e3235385a',
  // Lengths: 1 word of a, 4 of b.
  '000000000400000000 s:0000': '0001' + '0004',
  '000000010000000000 s:0000': '01010203615f740001cc08086c696c792e6b657901010001030000780100',
  // The term x has its postings in a row.
  '000000010100000000 s:0000': '0003000078' + '0101' + '01020164' + '010200',
  '000000010200000000 s:0000': '0300cc080001010101010101…',
  '000000010300000000 s:0000': 'a11101640103615f74019711…',
  '000000010400000000 s:0000': '00cc08',
}

void t.test('rows that end too early are corruption', async (t) => {
  for (const damaged of Object.keys(golden)) {
    const database = await openMemoryDatabase()
    const search = await EmbeddedSearch.open(database)
    await search.update({ documents })
    await search.commit()
    await search.update({ removedKeys: ['b'] })
    await search.commit()
    await search.update({ documents: [{ key: 'd', fields: { a_t: ['x '.repeat(1100)] } }] })
    await search.commit()
    await search.close()
    const [row, column] = damaged.split(' ') as [string, string]
    const key = row === 'commit' ? row : Buffer.from(row, 'hex')
    const found = (await database.table(table).get({ row: key })).value(column)!
    const cells = { [column]: found.subarray(0, found.length - 1) }
    await database.table(table).put({ row: key, cells, timestamp: 1 })
    const use = async (): Promise<void> => {
      const again = await EmbeddedSearch.open(database)
      try {
        for (const query of ['*:*', 'a_t:two', 'a_t:one', 'a_t:x', 'a_t:"x x"']) {
          await again.search({ query })
        }
      } finally {
        await again.close()
      }
    }
    await t.rejects(use(), { code: 'ERR_CORRUPTION' }, damaged)
  }
})

void t.test('names and terms without order are corruption', async (t) => {
  const codes = new Set<unknown>()
  for (const row of ['000000000000000000', '000000000100000000']) {
    for (let at = 0, size = 1; at < size; at++) {
      const database = await openMemoryDatabase()
      const search = await EmbeddedSearch.open(database)
      await search.update({ documents })
      await search.commit()
      await search.update({ documents: [{ key: 'd', fields: { a_t: ['one'] } }] })
      await search.commit()
      await search.close()
      const key = Buffer.from(row, 'hex')
      const found = (await database.table(table).get({ row: key })).value('s:0000')!
      size = found.length
      const bytes = Buffer.from(found)
      bytes[at] ^= 0x1f
      const put = { row: key, cells: { 's:0000': bytes }, timestamp: 1 }
      await database.table(table).put(put)
      try {
        const again = await EmbeddedSearch.open(database)
        try {
          await again.merge()
        } finally {
          await again.close()
        }
      } catch (error) {
        const { code, name } = error as { code?: string; name: string }
        codes.add(code ?? name)
      }
    }
  }
  // A field with another name may be of another kind.
  t.same([...codes].sort(), ['ERR_CORRUPTION', 'ERR_INVALID_ARGUMENT'])
})
