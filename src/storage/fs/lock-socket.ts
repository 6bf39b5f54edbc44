/**
 * A unix socket in the locked directory, which shows other processes whether its owner lives.
 *
 * The kernel accepts connections for a listener even while its event loop is busy, and refuses them
 * as soon as its thread or process has ended. The socket is found by its path, so every process of
 * the machine sees the same socket, whatever its namespaces. Paths work in all runtimes. Abstract
 * sockets do not: Node 20 pads their names, and Bun refuses names of the full length.
 *
 * The module `node:net` is loaded with the first call. Worker threads that run jobs never need it,
 * and loading takes 5 ms.
 */
import { unlinkSync } from 'node:fs'
import type * as nodeNet from 'node:net'
import { systemCode } from './errors.js'
import { quietly } from './quietly.js'

function net(): typeof nodeNet {
  return process.getBuiltinModule('node:net')
}

/** Longest path of a socket in bytes that all systems accept; some cut longer ones silently. */
const pathBytesMax = 100

/** Whether the owner of a socket lives; `unknown` if the socket gave no clear answer. */
export type SocketAnswer = 'alive' | 'dead' | 'unknown'

/** Listens on a socket file until it is closed. Does not keep the event loop alive. */
export class LockSocket {
  private readonly path: string
  private readonly server: nodeNet.Server

  private constructor(path: string, server: nodeNet.Server) {
    this.path = path
    this.server = server
  }

  /**
   * Creates the socket and listens. Returns undefined if that fails, or if connecting to it fails.
   */
  static async listen(path: string): Promise<LockSocket | undefined> {
    if (Buffer.byteLength(path) > pathBytesMax) return undefined
    const server = await startServer(path)
    if (server === undefined) return undefined
    const socket = new LockSocket(path, server)
    if ((await socket.ask()) === 'alive') return socket
    await socket.close()
    return undefined
  }

  /** The answer that other processes get now. */
  ask(): Promise<SocketAnswer> {
    return askSocket(this.path)
  }

  /** Stops listening and removes the file. */
  async close(): Promise<void> {
    await new Promise<void>((resolve) => this.server.close(() => resolve()))
    // Most runtimes remove the file themselves. A file that stays refuses connections, and the
    // next owner removes it.
    quietly(() => unlinkSync(this.path))
  }
}

function startServer(path: string): Promise<nodeNet.Server | undefined> {
  return new Promise((resolve) => {
    const server = net().createServer((socket) => socket.destroy())
    server.on('error', () => resolve(undefined))
    try {
      // Exclusive: a worker of node:cluster must not share the socket of the primary process.
      server.listen({ path, exclusive: true }, () => resolve(server))
      server.unref()
    } catch {
      resolve(undefined)
    }
  })
}

/** Whether a process listens on the socket at a path. */
export function askSocket(path: string): Promise<SocketAnswer> {
  if (Buffer.byteLength(path) > pathBytesMax) return Promise.resolve('unknown')
  return new Promise((resolve) => {
    try {
      const connection = net().connect({ path })
      connection.on('connect', () => {
        resolve('alive')
        connection.destroy()
      })
      connection.on('error', (error) => {
        connection.destroy()
        resolve(answerOf(systemCode(error)))
      })
    } catch {
      resolve('unknown')
    }
  })
}

function answerOf(code: string | undefined): SocketAnswer {
  switch (code) {
    case 'ECONNREFUSED':
    case 'ENOENT':
      return 'dead'
    // These codes come from a living listener: its queue is full, or it closed the connection
    // first.
    case 'EAGAIN':
    case 'ECONNRESET':
    case 'EPIPE':
      return 'alive'
    case undefined:
    default:
      return 'unknown'
  }
}
