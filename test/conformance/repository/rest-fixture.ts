/** A server with the repository of a case, and requests to it. */
import assert from 'node:assert/strict'
import type { RepositoryManager, RepositoryOptions } from '../../../src/systems/repository/index.js'
import { CellarServer, repositoryRoutes, type ServerOptions } from '../../../src/server/index.js'
import { ns, type Fixture } from './case.js'

/** An answer. */
export interface Answer {
  readonly status: number
  /** The body as JSON; undefined if it is empty or none. */
  readonly json: AnswerJson
  readonly headers: Headers
}

/** A body of an answer, with the members that the cases look at. */
export interface AnswerJson {
  readonly [name: string]: unknown
  readonly id?: string
  readonly code?: string
  readonly version?: number
  readonly fields?: Readonly<Record<string, unknown>>
  readonly type?: { readonly name: string; readonly version: number }
  readonly results?: readonly AnswerJson[]
}

/** The namespaces of the suite, for bodies: the prefix `s`. */
export const namespaces = { [ns]: 's' }

/** Speaks to a server. */
export class Rest {
  readonly manager: RepositoryManager
  readonly url: string
  /** Begins the addresses of records. */
  form = ''

  constructor(manager: RepositoryManager, url: string) {
    this.manager = manager
    this.url = `${url}/repository`
  }

  /** Sends a request; an object is sent as JSON. A path with `//` ahead has no form. */
  async send(
    method: string,
    path: string,
    body?: object | string,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const text = typeof body === 'object' ? JSON.stringify(body) : body
    const form = path.startsWith('//') ? path.slice(1) : `${this.form}${path}`
    const response = await fetch(`${this.url}${form}`, {
      method,
      headers: {
        ...(text === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(text === undefined ? {} : { body: text }),
      redirect: 'manual',
    })
    const answer = await response.text()
    const isJson = response.headers.get('content-type')?.startsWith('application/json') === true
    return {
      status: response.status,
      json: (isJson && answer !== '' ? JSON.parse(answer) : undefined) as AnswerJson,
      headers: response.headers,
    }
  }

  /** Sends a request whose answer must have a status; the body. */
  async expect(
    status: number,
    method: string,
    path: string,
    body?: object | string,
    headers?: Record<string, string>,
  ): Promise<AnswerJson> {
    const answer = await this.send(method, path, body, headers)
    assert.equal(answer.status, status, `${method} ${path}: ${JSON.stringify(answer.json)}`)
    return answer.json
  }
}

/** Runs a case against a server with the types of the suite. */
export async function served(
  fixture: Fixture,
  work: (rest: Rest) => Promise<void>,
  { repository = {}, server = {} }: { repository?: RepositoryOptions; server?: ServerOptions } = {},
): Promise<void> {
  await serving(await fixture.withTypes(repository), work, server)
}

/** Serves a manager while something runs. */
export async function serving<T>(
  manager: RepositoryManager,
  work: (rest: Rest) => Promise<T>,
  options: ServerOptions = {},
): Promise<T> {
  const running = await CellarServer.start([repositoryRoutes(manager)], { port: 0, ...options })
  try {
    return await work(new Rest(manager, running.url))
  } finally {
    await running.close()
  }
}

/** Runs a case once for each form of the addresses. */
export function inAllForms(
  work: (rest: Rest) => Promise<void>,
): (fixture: Fixture) => Promise<void> {
  return (fixture) =>
    served(fixture, async (rest) => {
      await rest.manager.repository().createTable('other')
      await rest.manager.createRepository('second')
      await rest.manager.repository('second').createTable('third')
      for (const form of ['', '/table/other', '/second', '/second/table/third']) {
        rest.form = form
        await work(rest)
      }
    })
}
