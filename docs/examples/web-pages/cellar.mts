/**
 * A web server with a list in pages, each with links to the next and the previous one. Rows that
 * come meanwhile move no page.
 */
import { createServer } from 'node:http'
import { Database, defineTable } from 'cellardb'

const db = await Database.open('./data')
const notes = await defineTable({ name: 'notes', columns: { text: 'utf8' } }).open(db)
await notes.putList([...'abcde'].map((id) => ({ id, text: `note ${id}` })))

const link = (page?: string) => (page === undefined ? undefined : `/?page=${page}`)

const server = createServer(async (request, response) => {
  const { searchParams } = new URL(request.url!, 'http://localhost')
  const page = searchParams.get('page') ?? undefined
  const { rows, next, previous } = await notes.page({ limit: 2, page })
  response.end(JSON.stringify({ rows, next: link(next), previous: link(previous) }))
})

await new Promise<void>((resolve) => server.listen(0, resolve))
const { port } = server.address() as { port: number }

async function show(path: string) {
  const page = JSON.parse(await (await fetch(`http://localhost:${port}${path}`)).text())
  console.log(
    page.rows.map(({ id }: { id: string }) => id).join(),
    'next' in page,
    'previous' in page,
  )
  return page
}

const first = await show('/') // prints a,b true false
await notes.put({ id: 'aa', text: 'a note between' })
const second = await show(first.next) // prints c,d true true
const third = await show(second.next) // prints e false true
await show(third.previous) // prints c,d true true
await show((await show(second.previous)).previous)
// prints aa,b true true
// prints a true false
server.close()
await db.close()
