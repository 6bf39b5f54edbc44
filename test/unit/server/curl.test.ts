/**
 * The command lines of docs/messaging.md and docs/repository.md work as they stand, against `cellar
 * serve`.
 *
 * @runs campaign, long
 */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { projectRoot } from '../../rules/support.js'
import { childEnvironment } from '../../helpers/child-environment.js'

const cli = join(projectRoot, 'build/package/cellar.js')
const hasCurl = spawnSync('curl', ['--version']).status === 0

interface Serving {
  readonly child: ChildProcess
  /** What it has said; grows. */
  readonly lines: string[]
  said(pattern: RegExp): Promise<RegExpExecArray>
  end(signal: NodeJS.Signals): Promise<number | null>
}

function serve(...words: string[]): Serving {
  const child = spawn(process.execPath, [cli, 'serve', '--port', '0', ...words], {
    env: childEnvironment,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const lines: string[] = []
  let wake: () => void = () => undefined
  child.stdout.on('data', (text: Buffer) => {
    lines.push(...text.toString().trimEnd().split('\n'))
    wake()
  })
  const closed = new Promise<number | null>((resolve) => child.once('close', resolve))
  const said = async (pattern: RegExp): Promise<RegExpExecArray> => {
    for (;;) {
      for (const line of lines) {
        const found = pattern.exec(line)
        if (found !== null) return found
      }
      await new Promise<void>((resolve) => (wake = resolve))
    }
  }
  const end = (signal: NodeJS.Signals): Promise<number | null> => {
    child.kill(signal)
    return closed
  }
  return { child, lines, said, end }
}

/** The blocks of shell commands of a page that have a word. */
function commands(page: string, word: string): string {
  const text = readFileSync(join(projectRoot, 'docs', page), 'utf8')
  const blocks = [...text.matchAll(/^```sh\n([^]*?)^```/gm)].map(([, block]) => block)
  return blocks.filter((block) => block.includes(word)).join('\n')
}

/** An answer with a status of 400 or more fails, and so does the script. */
const preamble = `set -e
curl() { command curl -sS --fail-with-body "$@"; }
npx() { shift; '${process.execPath}' '${cli}' "$@"; }
`

interface Outcome {
  readonly code: number | null
  readonly output: string
}

/** Runs a script in a directory. */
async function run(script: string, cwd: string): Promise<Outcome> {
  const shell = spawn('sh', ['-c', preamble + script], { cwd, env: childEnvironment })
  let output = ''
  for (const stream of [shell.stdout, shell.stderr]) {
    stream.on('data', (text: Buffer) => (output += text.toString('latin1')))
  }
  const code = await new Promise<number | null>((resolve) => shell.once('close', resolve))
  return { code, output }
}

void t.test(
  'every line of the page',
  { skip: hasCurl ? false : 'curl is not installed' },
  async (t) => {
    const directory = mkdtempSync(join(tmpdir(), 'cellar-curl-'))
    const serving = serve('--directory', join(directory, 'data'))
    try {
      const [, port] = await serving.said(/:(\d+)$/)
      const script = commands('messaging.md', 'curl ').replaceAll('11015', port)
      t.ok(script.split('\n').filter((line) => line.includes('curl ')).length > 15)
      const { code, output } = await run(script, directory)
      t.equal(code, 0, output)
      t.match(output, /"payload":"aGVsbG8="/, 'the message that was published')
      t.match(output, /"rollbackRange"/, 'the answer to a transactional publish')
      t.match(output, /hello in Avro/, 'an answer in Avro')
      t.match(output, /cellar_messaging_topics 0/)
    } finally {
      t.equal(await serving.end('SIGTERM'), 0, 'it ends by itself')
      rmSync(directory, { recursive: true, force: true })
    }
  },
)

void t.test(
  'from an empty directory to records over HTTP',
  { skip: hasCurl ? false : 'curl is not installed' },
  async (t) => {
    const directory = mkdtempSync(join(tmpdir(), 'cellar-repository-'))
    const imported = await run(commands('repository.md', 'npx cellar repository'), directory)
    t.equal(imported.code, 0, imported.output)
    t.match(imported.output, /2 created, 0 updated, 0 as they were, 0 failed/)
    t.match(imported.output, /default\/record USER\.notes \{org\.library\}author/, 'a link')
    t.match(imported.output, /2 records indexed, 0 failed/)
    t.match(imported.output, /r:h @1, \d+ bytes/, 'a row')
    const serving = serve('--directory', join(directory, 'data/cellar'))
    try {
      const [, port] = await serving.said(/:(\d+)$/)
      const script = commands('repository.md', 'curl ').replaceAll('11015', port)
      const { code, output } = await run(script, directory)
      t.equal(code, 0, output)
      t.match(output, /"ns1\$title":"Notes by the translator"/)
      t.match(output, /"before":"Notes","after":"Notes by the translator"/)
      t.match(output, /"total":1,"results":\[\{"id":"UUID/, 'a search')
      t.match(output, /"total":1,"results":\[\{"id":"USER\.notes"/, 'a search behind a link')
      t.match(output, /"ns1\$year":1842/, 'a record that a scan has found')
      t.match(output, /cellar_repository_requests_total\{method="DELETE",status="204"\} 1/)
      t.equal(readFileSync(join(directory, 'part.txt'), 'utf8'), 'Analytical')
      t.match(output, /"texts":\[\]/, 'the text of a blob was read')
    } finally {
      t.equal(await serving.end('SIGTERM'), 0, 'it ends by itself')
      rmSync(directory, { recursive: true, force: true })
    }
  },
)

void t.test('a second process waits, and takes over when the first is killed', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'cellar-standby-'))
  const words = ['--standby', '--directory', join(directory, 'data')]
  const first = serve(...words)
  await first.said(/leads/)
  const [url] = await first.said(/http:.*/)
  const second = serve(...words)
  try {
    await second.said(/waits/)
    const [other] = await second.said(/http:.*/)
    const topic = '/v3/namespaces/n/topics/t'
    t.equal((await fetch(url + topic, { method: 'PUT' })).status, 200)
    t.equal((await fetch(other + topic)).status, 503)
    await first.end('SIGKILL')
    await second.said(/leads/)
    t.equal((await fetch(other + topic)).status, 200)
  } finally {
    await first.end('SIGKILL')
    t.equal(await second.end('SIGTERM'), 0)
    rmSync(directory, { recursive: true, force: true })
  }
})
