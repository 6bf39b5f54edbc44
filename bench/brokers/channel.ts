/** Messages over a socket: one JSON text a line, with bytes as base64. */
import type { Socket } from 'node:net'

/** A message of either side. */
export type Message = Readonly<Record<string, unknown>>

interface Bytes {
  readonly base64: string
}

function withBytes(_name: string, value: unknown): unknown {
  const isBytes = typeof value === 'object' && value !== null && 'base64' in value
  return isBytes ? Buffer.from((value as Bytes).base64, 'base64') : value
}

/** The text of a value. Bytes are those of `Uint8Array`s and of strings alike. */
function textOf(value: unknown): string {
  return JSON.stringify(value, (_name, each: unknown) => {
    // A Buffer comes here as `toJSON` has made it.
    const data = each as { readonly type?: string; readonly data?: readonly number[] } | null
    if (data?.type !== 'Buffer' || data.data === undefined) return each
    return { base64: Buffer.from(data.data).toString('base64') }
  })
}

/** One end of a socket. */
export class Channel {
  readonly #socket: Socket
  #rest = ''

  /** `onMessage` is called for every message in order, `onClose` once. */
  constructor(socket: Socket, onMessage: (message: Message) => void, onClose: () => void) {
    this.#socket = socket
    socket.setNoDelay(true)
    socket.setEncoding('utf8')
    socket.on('data', (text: string) => {
      const lines = (this.#rest + text).split('\n')
      this.#rest = lines.pop()!
      for (const line of lines) onMessage(JSON.parse(line, withBytes) as Message)
    })
    socket.on('error', () => socket.destroy())
    socket.on('close', onClose)
  }

  send(message: Message): void {
    if (this.#socket.writable) this.#socket.write(`${textOf(message)}\n`)
  }

  /** Ends the connection behind what was sent. */
  end(): void {
    this.#socket.end()
  }

  destroy(): void {
    this.#socket.destroy()
  }
}
