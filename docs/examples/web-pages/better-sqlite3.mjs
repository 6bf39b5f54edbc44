import { createServer } from 'node:http'
import Database from 'better-sqlite3'

const limit = 2
const db = new Database('./data.db')
db.exec('CREATE TABLE IF NOT EXISTS notes (id TEXT PRIMARY KEY, text TEXT)')
const insert = db.prepare('INSERT INTO notes VALUES (?, ?)')
const rowsAfter = db.prepare('SELECT * FROM notes WHERE id > ? ORDER BY id LIMIT ?')
const rowsBefore = db.prepare('SELECT * FROM notes WHERE id < ? ORDER BY id DESC LIMIT ?')
const insertAll = db.transaction((ids) => {
  for (const id of ids) insert.run(id, `note ${id}`)
})
insertAll('abcde')

function readPage(after, before) {
  const reverse = before !== null
  const rows = reverse ? rowsBefore.all(before, limit + 1) : rowsAfter.all(after ?? '', limit + 1)
  const hasMore = rows.length > limit
  rows.splice(limit)
  if (reverse) rows.reverse()
  const next = reverse || hasMore ? `/?after=${rows.at(-1).id}` : undefined
  const previous = (reverse ? hasMore : after) ? `/?before=${rows[0].id}` : undefined
  return { rows, next, previous }
}

const server = createServer((request, response) => {
  const { searchParams } = new URL(request.url, 'http://localhost')
  const page = readPage(searchParams.get('after'), searchParams.get('before'))
  response.end(JSON.stringify(page))
})

await new Promise((resolve) => server.listen(0, resolve))
const { port } = server.address()

async function show(path) {
  const page = JSON.parse(await (await fetch(`http://localhost:${port}${path}`)).text())
  console.log(page.rows.map(({ id }) => id).join(), 'next' in page, 'previous' in page)
  return page
}

const first = await show('/')
insert.run('aa', 'a note between')
const second = await show(first.next)
const third = await show(second.next)
await show(third.previous)
await show((await show(second.previous)).previous)
server.close()
db.close()
