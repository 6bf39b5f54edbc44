import { createServer } from 'node:http'
import { ClassicLevel } from 'classic-level'

const limit = 2
const db = new ClassicLevel('./data')
const notes = db.sublevel('notes', { valueEncoding: 'json' })
await notes.batch([...'abcde'].map((key) => ({ type: 'put', key, value: { text: `note ${key}` } })))

async function readPage(after, before) {
  const reverse = before !== null
  const range = reverse ? { lt: before, reverse } : { gt: after ?? '' }
  const entries = await notes.iterator({ ...range, limit: limit + 1 }).all()
  const rows = entries.map(([id, value]) => ({ id, ...value }))
  const hasMore = rows.length > limit
  rows.splice(limit)
  if (reverse) rows.reverse()
  const next = reverse || hasMore ? `/?after=${rows.at(-1).id}` : undefined
  const previous = (reverse ? hasMore : after) ? `/?before=${rows[0].id}` : undefined
  return { rows, next, previous }
}

const server = createServer(async (request, response) => {
  const { searchParams } = new URL(request.url, 'http://localhost')
  const page = await readPage(searchParams.get('after'), searchParams.get('before'))
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
