/** The OpenAPI description of the routes. */
import type { FastifyInstance, RouteOptions } from 'fastify'
import type { JsonSchema, Operation } from '../http/operations.js'

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
