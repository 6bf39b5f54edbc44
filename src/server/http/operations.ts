/**
 * The declaration of routes. From one declaration come the route, the check of its query, and its
 * part of the OpenAPI description.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'

/** A JSON schema. One with a `title` is a component of the description, under that name. */
export type JsonSchema = Readonly<Record<string, unknown>>

/** One operation of the interface. */
export interface Operation {
  /** Unique among all operations. */
  readonly id: string
  /** The operation in a few words. */
  readonly summary: string
  /** Descriptions of the answers by their status. */
  readonly answers: Readonly<Record<number, string>>
  /** Schemas of the query parameters; the server checks them and fills in defaults. */
  readonly query?: Readonly<Record<string, JsonSchema>> | undefined
  /** Query parameters that must be given. */
  readonly required?: readonly string[] | undefined
  /** Schema of the body in JSON. */
  readonly body?: JsonSchema | undefined
  /** Schema of a successful answer in JSON. */
  readonly answer?: JsonSchema | undefined
  /** A content type beside JSON. */
  readonly mediaType?: string | undefined
}

/** The id of an operation: its summary in camel case. */
export function operationId(summary: string): string {
  return summary.replace(/ (\w)/g, (_, letter: string) => letter.toUpperCase())
}

/** Adds a route with its description. A handler without a result answers with an empty body. */
export function addRoute(
  app: FastifyInstance,
  method: string,
  url: string,
  operation: Operation,
  handler: (request: FastifyRequest, reply: FastifyReply) => unknown,
): void {
  const { query: properties, required = [] } = operation
  const querystring = { type: 'object', properties, required }
  const config: object = { operation }
  app.route({
    method: method.toUpperCase(),
    url,
    config,
    handler: async (request, reply) => (await handler(request, reply)) ?? reply.send(),
    ...(properties === undefined ? {} : { schema: { querystring } }),
  })
}

const problem: JsonSchema = {
  title: 'Problem',
  type: 'object',
  properties: { code: { type: 'string' }, message: { type: 'string' } },
}

/** Collects the operations of all routes that are added later. */
export class OpenApi {
  readonly #paths: Record<string, Record<string, unknown>> = {}
  readonly #schemas: Record<string, unknown> = {}

  /** Observes the routes of a server. */
  constructor(app: FastifyInstance) {
    app.addHook('onRoute', (route) => this.#add(route))
  }

  /** The description in OpenAPI 3.1. */
  get description(): object {
    const info = { title: 'Cellar', version: '0.1.0' }
    return { openapi: '3.1.0', info, paths: this.#paths, components: { schemas: this.#schemas } }
  }

  #add({ url, method, config }: RouteOptions): void {
    const { operation } = (config ?? {}) as { operation?: Operation }
    // Beside each GET route stands one for HEAD.
    if (operation === undefined || method === 'HEAD') return
    const names = [...url.matchAll(/:(\w+)/g)].map(([, name]) => name)
    const parameters = names.map((name) => {
      return { name, in: 'path', required: true, schema: { type: 'string' } }
    })
    const path = url.replace(/:(\w+)/g, '{$1}')
    this.#paths[path] ??= names.length === 0 ? {} : { parameters }
    this.#paths[path][String(method).toLowerCase()] = this.#described(operation)
  }

  #described(operation: Operation): object {
    const { id, summary, answers, query = {}, required = [], body, answer, mediaType } = operation
    const content = (schema: JsonSchema): object => {
      const json = { 'application/json': { schema: this.#referenced(schema) } }
      return { content: mediaType === undefined ? json : { ...json, [mediaType]: {} } }
    }
    const responses = Object.entries(answers).map(([status, description]) => {
      if (Number(status) >= 400) {
        const schema = this.#referenced(problem)
        return [status, { description, content: { 'application/json': { schema } } }] as const
      }
      const own = status === '200' && answer !== undefined ? content(answer) : {}
      return [status, { description, ...own }] as const
    })
    const parameters = Object.entries(query).map(([name, { description, ...schema }]) => {
      return { name, in: 'query', required: required.includes(name), description, schema }
    })
    return {
      operationId: id,
      summary,
      ...(parameters.length === 0 ? {} : { parameters }),
      ...(body === undefined ? {} : { requestBody: content(body) }),
      responses: Object.fromEntries(responses),
    }
  }

  /** The schema with references in place of the schemas that have a title. */
  #referenced(schema: unknown): unknown {
    if (Array.isArray(schema)) return schema.map((each) => this.#referenced(each))
    if (typeof schema !== 'object' || schema === null) return schema
    const own = Object.entries(schema).map(([name, each]) => [name, this.#referenced(each)])
    const { title } = schema as { title?: unknown }
    if (typeof title !== 'string') return Object.fromEntries(own) as unknown
    this.#schemas[title] = Object.fromEntries(own)
    return { $ref: `#/components/schemas/${title}` }
  }
}
