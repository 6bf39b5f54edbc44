/** The verbs of the command and a server whose answers break off. */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { RemoteDatabase } from '../../../src/server/database/client.js'
import { linesOf } from '../../../src/server/database/lines.js'
import { exitCodeOf } from '../../../src/cli/exit-codes.js'

const row = { row: 'a', cells: [] }

/** The rows of a scan that get here, and the exit code of its error. */
async function scanned(
  t: Test,
  answer: (to: ServerResponse) => void,
): Promise<[unknown[], number]> {
  const server = createServer((_request, response) => answer(response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const rows: unknown[] = []
  try {
    const remote = new RemoteDatabase(`http://127.0.0.1:${port}`, undefined)
    for await (const each of remote.rows('t', {})) rows.push(each)
    return [rows, 0]
  } catch (error) {
    return [rows, exitCodeOf(error)]
  }
}

void t.test('a scan whose answer is not whole fails as a server that is away', async (t) => {
  const line = `${JSON.stringify(row)}\n`
  t.strictSame(await scanned(t, (to) => to.end(line + line)), [[row, row], 0])
  const broken = (to: ServerResponse): void => {
    to.write(line)
    setTimeout(() => to.destroy(), 50)
  }
  t.strictSame(await scanned(t, broken), [[row], 3])
  t.strictSame(await scanned(t, (to) => to.end(`${line}{"row":"b","cel`)), [[row], 3])
  t.strictSame(await scanned(t, (to) => to.end('<html>\n')), [[], 3])
})

async function* inPieces(text: string, characters: number): AsyncGenerator<string, void> {
  for (let at = 0; at < text.length; at += characters) yield text.slice(at, at + characters)
}

async function allOf(lines: AsyncIterable<string>): Promise<string[]> {
  const all: string[] = []
  for await (const line of lines) all.push(line)
  return all
}

void t.test('lines are the same in pieces of any size', async (t) => {
  for (const text of ['', '\n', 'a', 'a\n', 'a\n\nb', '\n\nlong line\nb\n', 'a\r\nb']) {
    const whole = text.split('\n')
    if (whole.at(-1) === '') whole.pop()
    for (const characters of [1, 2, 3, 5, 100]) {
      t.strictSame(await allOf(linesOf(inPieces(text, characters))), whole)
    }
  }
  const long = 'v'.repeat(24 << 20)
  const start = performance.now()
  t.ok((await allOf(linesOf(inPieces(`${long}\n`, 8192))))[0] === long)
  t.ok(performance.now() - start < 8000, 'a long line is put together once')
})
