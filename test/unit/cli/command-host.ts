/**
 * A process that runs the command again and again, for tests of very many command lines: to start a
 * process costs ten times as much as most commands do. It is told words, and answers with what the
 * command has left.
 */
import type { Ran } from './support.js'

const cli = process.argv[2]

/** Collects what a stream of the process is given. */
function collect(stream: NodeJS.WriteStream): () => string {
  let collected = ''
  stream.write = (chunk: string | Uint8Array, ...rest: unknown[]): boolean => {
    collected += Buffer.from(chunk as string).toString()
    const done = rest.at(-1)
    if (typeof done === 'function') (done as () => void)()
    return true
  }
  return () => {
    const taken = collected
    collected = ''
    return taken
  }
}

const out = collect(process.stdout)
const complaint = collect(process.stderr)
// The module of the command runs it with the words of its process.
process.argv = [process.execPath, cli, '--version']
const { main } = (await import(cli)) as { main: (words: readonly string[]) => Promise<void> }
await new Promise((resolve) => setImmediate(resolve))
out()

process.on('message', (words: readonly string[]) => {
  process.exitCode = undefined
  void main(words).then(() => {
    const status = Number(process.exitCode ?? 0)
    const ran: Ran = { status, out: out(), complaint: complaint() }
    process.send!(ran)
  })
})
process.on('disconnect', () => process.exit())
process.send!('ready')
