/**
 * Links from one record to another, absolute or relative to the record that holds them.
 *
 * Text: `[table:]MASTER.[!*,]k=v,+k,-k`. A missing master, `.`, is the master of the record that
 * holds the link. The variant properties of that record are copied unless `!*` stands first. Then
 * the rules set a property (`k=v`), copy one (`+k`) or remove one (`-k`).
 */
import {
  boolean,
  checked,
  checkObject,
  checkText,
  declareOptions,
  readArguments,
  shown,
  text,
  type OptionsOf,
} from '../../api/index.js'
import { invalidArgument } from './errors.js'
import { escaped, RecordId, splitEscaped, unescaped, type RecordIdLike } from './record-id.js'

/** How a link treats one variant property. */
export type LinkRule =
  | {
      /** The property gets a value. */
      readonly kind: 'set'
      /** The value of the property, not empty. */
      readonly value: string
    }
  | {
      /** The property is copied from the holder, also without `copyAll`. */
      readonly kind: 'copy'
    }
  | {
      /** The property of the holder is not copied. */
      readonly kind: 'remove'
    }

type Rules = Readonly<Record<string, LinkRule>>

const linkParts = declareOptions('a link', {
  /** Default: the table of the record that holds the link. */
  table: text(undefined),
  /** Id of a master. Default: the master of the record that holds the link. */
  master: checked((id: RecordIdLike) => RecordId.of(id)),
  /** Whether variant properties of the holder are copied. Default true. */
  copyAll: boolean(true),
  /** Rules by name of a variant property. Default: none. */
  rules: checked(checkObject<Rules>, {} as Rules),
})

/** Parts of a {@link Link}. */
export interface LinkParts extends OptionsOf<typeof linkParts> {}

/** A link; immutable. */
export class Link {
  /** Name of the record table; undefined = the table of the holder. */
  readonly table: string | undefined
  /** The master of the target; undefined = the master of the holder. */
  readonly master: RecordId | undefined
  /** Whether variant properties of the holder are copied. */
  readonly copyAll: boolean
  /** Sorted by name. */
  readonly rules: Readonly<Record<string, LinkRule>>
  /** The text form. */
  readonly text: string

  /** Creates a link. `ERR_INVALID_ARGUMENT` for a part that is not valid. */
  constructor(parts: LinkParts = {}) {
    const { table, master, copyAll, rules } = linkParts.read(parts)
    if (master?.isVariant === true) {
      throw invalidArgument('the master of a link has no variant properties; give rules')
    }
    if (table !== undefined && !/^[\w-]+$/.test(table)) {
      throw invalidArgument(`a table cannot have the name ${shown(table)}`)
    }
    this.table = table
    this.master = master
    this.copyAll = copyAll
    const names = Object.keys(rules).sort()
    this.rules = readArguments(() => {
      return Object.freeze(
        Object.fromEntries(names.map((name) => [name, ruleOf(name, rules[name])])),
      )
    })
    this.text = this.#write()
    Object.freeze(this)
  }

  /** A link to exactly this record: its variant properties are set, none is copied. */
  static to(id: RecordIdLike, table?: string): Link {
    const target = RecordId.of(id)
    const rules = Object.entries(target.variantProperties).map(([name, value]) => {
      return [name, { kind: 'set', value }] as const
    })
    return new Link({
      table,
      master: target.master,
      copyAll: false,
      rules: Object.fromEntries(rules),
    })
  }

  /** Parses the text of a link. `ERR_INVALID_ARGUMENT`. */
  static parse(text: string): Link {
    if (typeof text !== 'string') throw invalidArgument(`a link must be a text, got ${shown(text)}`)
    const colon = text.indexOf(':')
    const dot = text.indexOf('.')
    // A colon after the first dot belongs to the id.
    const hasTable = colon >= 0 && (dot < 0 || colon < dot)
    const table = hasTable ? text.slice(0, colon) : undefined
    const rest = hasTable ? text.slice(colon + 1) : text
    if (rest === '' || rest === '.') return new Link({ table })
    if (rest.startsWith('.')) return new Link({ table, ...parseRules(rest.slice(1), text) })
    const [kind, own, rules, ...more] = splitEscaped(rest, '.')
    if (more.length > 0 || own === undefined) {
      throw invalidArgument(`a link is [table:]MASTER.[!*,]k=v,+k,-k; got ${shown(text)}`)
    }
    const master = RecordId.parse(`${kind}.${own}`)
    return new Link({ table, master, ...(rules === undefined ? {} : parseRules(rules, text)) })
  }

  /** Whether a value is an instance of this class. */
  static is(value: unknown): value is Link {
    return typeof value === 'object' && value !== null && #write in value
  }

  /** The record that the link means in the record `holder`. `ERR_INVALID_ARGUMENT`. */
  resolve(holder: RecordIdLike): RecordId {
    const from = RecordId.of(holder)
    const properties: Record<string, string> = this.copyAll ? { ...from.variantProperties } : {}
    for (const [name, rule] of Object.entries(this.rules)) {
      const copied = from.variantProperties[name] as string | undefined
      if (rule.kind === 'set') properties[name] = rule.value
      else if (rule.kind === 'remove') delete properties[name]
      else if (copied !== undefined) properties[name] = copied
    }
    return (this.master ?? from.master).variant(properties)
  }

  /** Whether the text forms are equal. */
  equals(other: Link): boolean {
    return Link.is(other) && this.text === other.text
  }

  /** The text form. */
  toString(): string {
    return this.text
  }

  /** The text form. */
  toJSON(): string {
    return this.text
  }

  #write(): string {
    const parts = Object.entries(this.rules).map(([name, rule]) => {
      if (rule.kind === 'set') return `${escaped(name)}=${escaped(rule.value)}`
      return `${rule.kind === 'copy' ? '+' : '-'}${escaped(name)}`
    })
    if (!this.copyAll) parts.unshift('!*')
    const table = this.table === undefined ? '' : `${this.table}:`
    const master = this.master?.text ?? ''
    const rules = parts.length === 0 ? '' : `.${parts.join(',')}`
    return `${table}${master}${rules}` || '.'
  }
}

function ruleOf(name: string, given: LinkRule): LinkRule {
  const rule = checkObject(given, `the rule of ${shown(name)}`)
  const { kind } = rule
  if (kind === 'copy' || kind === 'remove') return Object.freeze({ kind })
  if (kind === 'set') {
    const value = checkText(rule.value, `the value of ${shown(name)}`)
    return Object.freeze({ kind, value })
  }
  throw invalidArgument(`the rule of ${shown(name)} is set, copy or remove, got ${shown(kind)}`)
}

function parseRules(text: string, whole: string): Pick<LinkParts, 'copyAll' | 'rules'> {
  const rules: Record<string, LinkRule> = {}
  let copyAll = true
  for (const [index, part] of splitEscaped(text, ',').entries()) {
    if (part === '!*' && index === 0) copyAll = false
    else if (/^[+-]./.test(part)) {
      rules[unescaped(part.slice(1), whole)] = { kind: part[0] === '+' ? 'copy' : 'remove' }
    } else {
      const [name, value, ...more] = splitEscaped(part, '=')
      if (value === undefined || name === '' || more.length > 0) {
        throw invalidArgument(`a link has rules k=v, +k and -k; got ${shown(whole)}`)
      }
      rules[unescaped(name, whole)] = { kind: 'set', value: unescaped(value, whole) }
    }
  }
  return { copyAll, rules }
}
