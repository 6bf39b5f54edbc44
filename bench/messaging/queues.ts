/** Queues of messages that are compared: Cellar's topics, Redis Streams, and tables as queues. */
import { fork, spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { loadPeer } from '../engines/peers.js'
import type { FetchOptions, Messaging } from '../../src/systems/messaging/index.js'
import { MessagingClient } from '../../src/server/index.js'
import { openTopic, topic, type QueueDurability } from './topic.js'

/** An append-only queue of messages. */
export interface Queue {
  publish(messages: readonly string[]): Promise<void>
  /** At most `limit` messages behind a position; null = from the beginning. */
  poll(
    position: string | null,
    limit: number,
  ): Promise<{ count: number; bytes: number; position: string | null }>
  /** Waits for the next message behind a position; absent if the queue cannot. */
  next?(position: string | null): Promise<string>
  close(): Promise<void>
}

/** A kind of queue. */
export interface QueueKind {
  readonly name: string
  /** Whether each request goes over HTTP. */
  readonly isRemote: boolean
  open(directory: string, durability: QueueDurability): Promise<Queue>
}

const waitMilliseconds = 30_000

/** A topic, in process or over HTTP. */
function topicQueue(messaging: Messaging, close: () => Promise<void>): Queue {
  const behind = (position: string | null): FetchOptions =>
    position === null ? {} : { from: position, inclusive: false }
  return {
    publish: async (messages) => {
      await messaging.publish(topic, { messages })
    },
    poll: async (position, limit) => {
      const messages = await messaging.poll(topic, { ...behind(position), limit })
      let bytes = 0
      for (const { payload } of messages) bytes += payload.length
      const last = messages.at(-1)?.id.toString('hex') ?? position
      return { count: messages.length, bytes, position: last }
    },
    next: async (position) => {
      const options = { ...behind(position), limit: 1, waitMilliseconds }
      const [message] = await messaging.poll(topic, options)
      return message.id.toString('hex')
    },
    close,
  }
}

const cellar: QueueKind = {
  name: 'cellar',
  isRemote: false,
  open: async (directory, durability) => {
    const { service, close } = await openTopic(directory, durability)
    return topicQueue(service, close)
  },
}

/** Over HTTP, with the server in a process of its own, as Redis's is. */
function overHttp(encoding: 'json' | 'avro'): QueueKind {
  return {
    name: `cellar-http-${encoding}`,
    isRemote: true,
    open: async (directory, durability) => {
      const server = fork(fileURLToPath(new URL('server.js', import.meta.url)), [
        directory,
        durability,
      ])
      const ended = once(server, 'exit')
      const [url] = (await once(server, 'message')) as [string]
      return topicQueue(new MessagingClient({ url, encoding }), async () => {
        server.disconnect()
        await ended
      })
    },
  }
}

/** The parts of `ioredis` that are used. */
interface Redis {
  pipeline(): { xadd(...words: string[]): unknown; exec(): Promise<[Error | null, unknown][]> }
  xadd(...words: string[]): Promise<unknown>
  xread(...words: (string | number)[]): Promise<[string, [string, string[]][]][] | null>
  xrange(...words: (string | number)[]): Promise<[string, string[]][]>
  ping(): Promise<unknown>
  quit(): Promise<unknown>
  on(event: string, listener: (error: Error) => void): void
}

const redis: QueueKind = {
  name: 'redis',
  isRemote: false,
  open: async (directory, durability) => {
    if (spawnSync('redis-server', ['--version']).error !== undefined) {
      throw new Error('redis-server is not installed')
    }
    const socket = join(directory, 'redis.sock')
    const policy = durability === 'sync' ? 'always' : 'everysec'
    const words = ['--port', '0', '--unixsocket', socket, '--dir', directory, '--save', '']
    const server: ChildProcess = spawn(
      'redis-server',
      [...words, '--appendonly', 'yes', '--appendfsync', policy],
      { stdio: 'ignore' },
    )
    const { Redis: Client } = loadPeer<{ Redis: new (path: string) => Redis }>('ioredis')
    const client = new Client(socket)
    client.on('error', () => undefined)
    await client.ping()
    // A connection that waits answers nothing else.
    const waiting = new Client(socket)
    waiting.on('error', () => undefined)
    return {
      publish: async (messages) => {
        if (messages.length === 1) {
          await client.xadd('messages', '*', 'p', messages[0])
          return
        }
        const pipeline = client.pipeline()
        for (const message of messages) pipeline.xadd('messages', '*', 'p', message)
        for (const [error] of await pipeline.exec()) if (error !== null) throw error
      },
      poll: async (position, limit) => {
        const start = position === null ? '-' : `(${position}`
        const found = await client.xrange('messages', start, '+', 'COUNT', limit)
        let bytes = 0
        for (const [, [, payload]] of found) bytes += payload.length
        return { count: found.length, bytes, position: found.at(-1)?.[0] ?? position }
      },
      next: async (position) => {
        const start = position ?? '0'
        const words = ['BLOCK', waitMilliseconds, 'STREAMS', 'messages', start]
        const found = await waiting.xread('COUNT', 1, ...words)
        return found![0][1][0][0]
      },
      close: async () => {
        await waiting.quit()
        await client.quit()
        const ended = new Promise((resolve) => server.once('close', resolve))
        server.kill('SIGTERM')
        await ended
      },
    }
  },
}

/** The parts of `lmdb` that are used. */
interface Lmdb {
  open(options: object): {
    put(key: number, value: string): Promise<unknown>
    getRange(options: object): Iterable<{ key: number; value: string }>
    readonly flushed: Promise<unknown>
    close(): Promise<void>
  }
}

const lmdb: QueueKind = {
  name: 'lmdb',
  isRemote: false,
  open: async (directory, durability) => {
    const path = join(directory, 'lmdb')
    const isSync = durability === 'sync'
    const store = loadPeer<Lmdb>('lmdb').open({ path, overlappingSync: isSync, noSync: !isSync })
    let next = 0
    return {
      publish: async (messages) => {
        await Promise.all(messages.map((message) => store.put(next++, message)))
        if (isSync) await store.flushed
      },
      poll: async (position, limit) => {
        const start = position === null ? 0 : Number(position) + 1
        let bytes = 0
        let count = 0
        let last = position
        for (const { key, value } of store.getRange({ start, limit })) {
          bytes += value.length
          count++
          last = String(key)
        }
        return { count, bytes, position: last }
      },
      close: () => store.close(),
    }
  },
}

interface Statement {
  run(...values: unknown[]): unknown
  all(...values: unknown[]): { id: number; payload: string }[]
}
/** The parts of `better-sqlite3` that are used. */
type Sqlite = new (path: string) => {
  pragma(text: string): unknown
  exec(text: string): unknown
  prepare(text: string): Statement
  transaction(work: (messages: readonly string[]) => void): (messages: readonly string[]) => void
  close(): void
}

const sqlite: QueueKind = {
  name: 'better-sqlite3',
  isRemote: false,
  open: async (directory, durability) => {
    const database = new (loadPeer<Sqlite>('better-sqlite3'))(join(directory, 'queue.sqlite'))
    database.pragma('journal_mode = WAL')
    database.pragma(`synchronous = ${durability === 'sync' ? 'FULL' : 'NORMAL'}`)
    database.exec('create table queue (id integer primary key autoincrement, payload text)')
    const insert = database.prepare('insert into queue (payload) values (?)')
    const select = database.prepare(
      'select id, payload from queue where id > ? order by id limit ?',
    )
    const all = database.transaction((messages) => {
      for (const message of messages) insert.run(message)
    })
    return {
      publish: async (messages) => all(messages),
      poll: async (position, limit) => {
        const found = select.all(Number(position ?? 0), limit)
        let bytes = 0
        for (const { payload } of found) bytes += payload.length
        const last = found.at(-1)
        return { count: found.length, bytes, position: last ? String(last.id) : position }
      },
      close: async () => database.close(),
    }
  },
}

/** All kinds, in the order of the tables. */
export const queueKinds: readonly QueueKind[] = [
  cellar,
  overHttp('json'),
  overHttp('avro'),
  redis,
  lmdb,
  sqlite,
]
