/** The command lines of docs/messaging.md work as they stand, against `cellar serve`. */
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

/** The blocks of shell commands that speak to the server. */
function commands(): string {
  const page = readFileSync(join(projectRoot, 'docs/messaging.md'), 'utf8')
  const blocks = [...page.matchAll(/^```sh\n([^]*?)^```/gm)].map(([, block]) => block)
  return blocks.filter((block) => block.includes('curl ')).join('\n')
}

void t.test(
  'every line of the page',
  { skip: hasCurl ? false : 'curl is not installed' },
  async (t) => {
    const directory = mkdtempSync(join(tmpdir(), 'cellar-curl-'))
    const serving = serve('--directory', join(directory, 'data'))
    try {
      const [, port] = await serving.said(/:(\d+)$/)
      // An answer with a status of 400 or more fails, and so does the script.
      const preamble = 'set -e\ncurl() { command curl -sS --fail-with-body "$@"; echo; }\n'
      const script = preamble + commands().replaceAll('11015', port)
      t.ok(script.split('\n').filter((line) => line.includes('curl ')).length > 15)
      const shell = spawn('sh', ['-c', script], { cwd: directory })
      let output = ''
      shell.stdout.on('data', (text: Buffer) => (output += text.toString('latin1')))
      shell.stderr.on('data', (text: Buffer) => (output += text.toString('latin1')))
      const code = await new Promise((resolve) => shell.once('close', resolve))
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
