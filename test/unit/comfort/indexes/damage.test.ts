/** Entries of indexes whose bytes are damaged. */
import t from 'tap'
import { openIndexes } from '../../../../src/entries/index.js'
import { TestDatabase } from '../../../helpers/test-database.js'

void t.test('damaged entries are corruption, and a rebuild makes them anew', async (t) => {
  const test = await TestDatabase.open()
  const users = await test.database.createTable('users', { families: { f: {} } })
  for (const name of ['0', '1']) {
    await users.put({ row: `r${name}`, cells: { 'f:city': `c${name}`, 'f:mail': `m${name}` } })
  }
  const indexes = await openIndexes(test.database)
  const declaration = { name: 'i', key: { city: 'f:city' }, stored: ['f:mail'] }
  for (const unique of [false, true]) {
    const index = await indexes.create('users', { ...declaration, unique })
    await index.ready()
    const [{ entries }] = await indexes.list('users')
    const table = test.database.table(entries)
    const [first] = await table.scan({ columns: ['e:'] }).toArray()
    const row = Buffer.from(first.row!)
    // The length of the row, the row of a unique index, the length of a column, and the column.
    const tail = unique ? '7230' : ''
    for (const bytes of ['', '00', '0000', 'ffff', `0040${tail}000000036d30`]) {
      await table.put({ row, cells: { 'e:': Buffer.from(bytes, 'hex') } })
      const expected = { code: 'ERR_CORRUPTION', message: /entry 0x6330.* index 'i'.* no row/ }
      await t.rejects(index.rows(), expected, `rows ${unique} ${bytes}`)
      await t.rejects(index.entries(), expected, `entries ${unique} ${bytes}`)
    }
    for (const bytes of ['', '000000', '0000000f6d30']) {
      await table.put({ row, cells: { 'e:': Buffer.from(`0002${tail}${bytes}`, 'hex') } })
      const expected = { code: 'ERR_CORRUPTION', message: /entry 0x6330.* no column 'f:mail'/ }
      await t.rejects(index.entries(), expected, `columns ${unique} ${bytes}`)
    }
    await indexes.rebuild('users', 'i')
    await index.ready()
    const { rows } = await index.entries()
    t.equal(rows[0].stored['f:mail'].toString(), 'm0')
    await indexes.drop('users', 'i')
  }
  await indexes.close()
  await test.close()
})
