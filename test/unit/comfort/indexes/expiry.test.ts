/**
 * Indexes of families whose cells expire.
 *
 * @runs long
 */
import t from 'tap'
import { openIndexes } from '../../../../src/entries/index.js'
import { TestDatabase } from '../../../helpers/test-database.js'

void t.test('an expired row keeps no unique value, and takes none from others', async (t) => {
  const test = await TestDatabase.open()
  const families = { f: { ttlMilliseconds: 60_000, versions: 3 } }
  await test.database.createTable('users', { families })
  const indexes = await openIndexes(test.database)
  t.teardown(async () => {
    await indexes.close()
    await test.close()
  })
  const key = { mail: 'f:mail' }
  const byMail = await indexes.create('users', { name: 'by_mail', key, unique: true })
  await byMail.ready()
  const users = test.database.table('users')
  const cells = { 'f:mail': 'a' }
  const checkOwner = async (owner: string): Promise<void> => {
    const { rows } = await byMail.rows({ prefix: { mail: 'a' } })
    t.strictSame(
      rows.map(({ row }) => row!.toString()),
      [owner],
    )
    t.strictSame((await byMail.verify()).rowsWithoutEntry, [])
    await t.rejects(users.put({ row: 'third', cells }), { code: 'ERR_UNIQUE_VIOLATION' })
  }
  for (const isFlushed of [false, true]) {
    await users.put({ row: 'first', cells })
    if (isFlushed) await test.database.admin.flush('users')
    test.clock.milliseconds += 61_000
    await users.put({ row: 'second', cells })
    await users.delete({ row: 'first', columns: ['f:mail'] })
    await checkOwner('second')

    test.clock.milliseconds += 61_000
    await users.put({ row: 'first', cells })
    if (isFlushed) await test.database.admin.flush('users')
    test.clock.milliseconds += 61_000
    await users.put({ row: 'second', cells })
    await users.put({ row: 'second', cells: { 'f:mail': 'b' } })
    // A marker in the mutation, so that the values before it are read with their versions.
    const old = { family: 'f', qualifier: 'mail', timestamp: 1 }
    const mutations = [{ delete: { columns: [old] } }, { put: { cells } }]
    await users.mutateRow({ row: 'first', mutations })
    await checkOwner('first')
    test.clock.milliseconds += 61_000
  }
})
