import { createServer } from 'node:http'
import { open } from 'lmdb'

const limit = 2
const db = open({ path: './data' })
const notes = db.openDB('notes')
await notes.transaction(() => {
  for (const id of 'abcde') notes.put(id, { text: `note ${id}` })
})

function readPage(after, before) {
  const reverse = before !== null
  const range = { start: before ?? after ?? undefined, exclusiveStart: reverse || after !== null }
  const found = notes.getRange({ ...range, reverse, limit: limit + 1 })
  const rows = [...found.map(({ key, value }) => ({ id: key, ...value }))]
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
await notes.put('aa', { text: 'a note between' })
const second = await show(first.next)
const third = await show(second.next)
await show(third.previous)
await show((await show(second.previous)).previous)
server.close()
await db.close()
