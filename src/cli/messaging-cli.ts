/**
 * `cellar messaging`: shows the messaging of a directory, even while a server has it open, or of a
 * remote server. It writes nothing.
 */
import { readFile } from 'node:fs/promises'
import { Database } from '../entries/index.js'
import { MessagingClient } from '../server/index.js'
import {
  debugMessaging,
  messageLine,
  positionLine,
  isView,
  views,
  type DebugView,
} from './messaging-views.js'

/** The options of the command line. */
export interface MessagingWords {
  readonly directory: string
  readonly limit: string
  readonly url?: string
  readonly tokenFile?: string
}

/** The environment variable with the token of a server. */
export const tokenVariable = 'CELLAR_TOKEN'

/** The token from a file or from the environment: other users of the machine can read neither. */
export async function tokenOf({ tokenFile }: { tokenFile?: string }): Promise<string | undefined> {
  if (tokenFile !== undefined) return (await readFile(tokenFile, 'utf8')).trim()
  return process.env[tokenVariable]
}

/** Writes the lines of a view to the standard output. */
export async function showMessaging(
  view: DebugView,
  topic: string | undefined,
  words: MessagingWords,
): Promise<void> {
  const limit = /^[1-9][0-9]{0,14}$/.test(words.limit) ? Number(words.limit) : NaN
  if (Number.isNaN(limit)) throw new Error(`limit must be above 0, got '${words.limit}'`)
  if (!isView(view)) throw new Error(`no view '${String(view)}'; there are ${views.join(', ')}`)
  const { url, directory } = words
  const lines =
    url === undefined
      ? ofDirectory(directory, view, topic, limit)
      : ofServer(new MessagingClient({ url, token: await tokenOf(words) }), view, topic, limit)
  for await (const line of lines) process.stdout.write(`${line}\n`)
}

async function* ofDirectory(
  directory: string,
  view: DebugView,
  topic: string | undefined,
  limit: number,
): AsyncGenerator<string, void> {
  const database = await Database.open(directory, { readOnly: true })
  try {
    yield* debugMessaging(database, view, topic, limit)
  } finally {
    await database.close()
  }
}

async function* ofServer(
  client: MessagingClient,
  view: DebugView,
  name: string | undefined,
  limit: number,
): AsyncGenerator<string, void> {
  if (view === 'topics') {
    for (const namespace of await client.listNamespaces()) {
      for (const topic of await client.listTopics(namespace)) {
        const properties = await client.getTopic({ namespace, topic })
        yield `${namespace}:${topic}  ${JSON.stringify(properties)}`
      }
    }
    return
  }
  const [namespace, topic] = name?.split(':') ?? []
  if (topic === undefined) throw new Error(`'${view}' of a server is of one topic: namespace:topic`)
  if (view === 'messages') {
    for (const message of await client.poll({ namespace, topic }, { limit })) {
      yield messageLine({ namespace, topic }, message)
    }
  } else if (view === 'positions') {
    for (const position of await client.listPositions({ namespace, topic })) {
      yield positionLine({ namespace, topic }, position)
    }
  } else throw new Error(`'${view}' is a view of directories`)
}
