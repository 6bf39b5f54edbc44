/**
 * Changes a schema to match definitions in code, by a plan that callers can inspect first.
 *
 * Value types and scopes never change, and types are never removed. A definition that requires such
 * a change is a conflict, and a plan with conflicts is not applied.
 */
import { boolean, checkArray, declareOptions, type OptionsOf } from '../../../api/index.js'
import { repositoryError } from '../errors.js'
import { checkDefinition, type RecordTypeDefinition } from './define.js'
import {
  readEntry,
  type FieldEntryInput,
  type FieldTypeInput,
  type RecordTypeInput,
} from './types.js'
import { entryOf, stable } from './type-contents.js'
import type { SchemaCache } from './schema-cache.js'
import { TypeManager } from './type-manager.js'

/** A call of the type manager that creates or changes one type. */
interface Step<Action extends string, Input> {
  /** The call of the type manager that performs the step. */
  readonly action: Action
  /** Qualified name of the type. */
  readonly name: string
  /** The argument of the call. */
  readonly input: Input
}

/** The update of a record type. */
interface UpdateStep extends Step<'update-record-type', RecordTypeInput> {
  /** Names of fields that the type gets. */
  readonly added: readonly string[]
  /** Names of fields that the type loses. */
  readonly removed: readonly string[]
  /** Names of fields whose rules change. */
  readonly changed: readonly string[]
}

/** One step of a plan. */
export type SchemaStep =
  | Step<'create-field-type', FieldTypeInput>
  | Step<'create-record-type', RecordTypeInput>
  | UpdateStep

/** The difference between a schema and definitions. */
export interface SchemaPlan {
  /** The steps in the order of their application; empty if the schema matches. */
  readonly steps: readonly SchemaStep[]
  /** The reasons why the plan cannot be applied; empty if it can. */
  readonly conflicts: readonly string[]
}

const schemaOptions = declareOptions('the application of a schema', {
  /** Whether the plan is only returned, not applied. Default false. */
  dryRun: boolean(false),
})

/** Options of {@link applySchema}. */
export interface SchemaOptions extends OptionsOf<typeof schemaOptions> {}

type Definition = RecordTypeDefinition

function checkDefinitions(definitions: readonly Definition[]): Definition[] {
  return checkArray(definitions, 'the definitions').map(checkDefinition)
}

/** Compares a schema with definitions, without writing. `ERR_INVALID_ARGUMENT`. */
export function planSchema(manager: TypeManager, definitions: readonly Definition[]): SchemaPlan {
  return planOf(TypeManager.check(manager).schema, checkDefinitions(definitions))
}

function planOf(schema: SchemaCache, definitions: readonly Definition[]): SchemaPlan {
  const steps: SchemaStep[] = []
  const conflicts: string[] = []
  const created = new Map<string, FieldTypeInput>()
  for (const definition of definitions) {
    for (const [property, { type: valueType, scope }] of Object.entries(definition.fields)) {
      const name = definition.fieldNames[property]
      const input: FieldTypeInput = { name, valueType, scope }
      const known = schema.findField(name) ?? created.get(name)
      if (known === undefined) {
        created.set(name, input)
        steps.push({ action: 'create-field-type', name, input })
      } else if (known.valueType !== valueType || known.scope !== input.scope) {
        const is = `${known.scope} ${known.valueType}`
        conflicts.push(`${name} is ${is} and cannot become ${input.scope} ${valueType}`)
      }
    }
  }
  const names = new Set(definitions.map(({ name }) => name))
  for (const definition of bySupertypes(definitions)) {
    for (const supertype of definition.supertypes) {
      if (names.has(supertype) || schema.findRecordType(supertype) !== undefined) continue
      conflicts.push(`${definition.name} has the supertype ${supertype}, which does not exist`)
    }
    const step = recordStep(schema, definition)
    if (step !== undefined) steps.push(step)
  }
  return { steps, conflicts }
}

/** Sorts the definitions: supertypes before their subtypes. */
function bySupertypes(definitions: readonly Definition[]): Definition[] {
  const byName = new Map(definitions.map((definition) => [definition.name, definition]))
  const ordered = new Set<Definition>()
  const visit = (definition: Definition, path: ReadonlySet<Definition>): void => {
    if (ordered.has(definition) || path.has(definition)) return
    const below = new Set([...path, definition])
    for (const name of definition.supertypes) {
      const supertype = byName.get(name)
      if (supertype !== undefined) visit(supertype, below)
    }
    ordered.add(definition)
  }
  for (const definition of definitions) visit(definition, new Set())
  return [...ordered]
}

function inputOf({ name, fields, fieldNames, supertypes, strict }: Definition): RecordTypeInput {
  const entries = Object.entries(fields).map(([property, field]): FieldEntryInput => {
    const rules = Object.entries(field).filter(([name]) => !['type', 'scope'].includes(name))
    return { ...Object.fromEntries(rules), name: fieldNames[property] }
  })
  return { name, fields: entries, supertypes: supertypes.map((each) => ({ name: each })), strict }
}

function recordStep(schema: SchemaCache, definition: Definition): SchemaStep | undefined {
  const { name } = definition
  const input = inputOf(definition)
  const known = schema.findRecordType(name)
  if (known === undefined) return { action: 'create-record-type', name, input }
  const before = new Map(known.fields.map((entry) => [schema.fieldById(entry.field).name, entry]))
  const added: string[] = []
  const changed: string[] = []
  for (const entry of input.fields!) {
    const field = schema.findField(entry.name!)
    const old = field === undefined ? undefined : before.get(field.name)
    if (field === undefined || old === undefined) added.push(entry.name!)
    else if (stable(entryOf(readEntry(entry), field)) !== stable(old)) changed.push(entry.name!)
  }
  const wanted = new Set<string>(input.fields!.map((entry) => entry.name!))
  const removed = [...before.keys()].filter((field) => !wanted.has(field))
  const above = known.supertypes.map(({ id }) => schema.recordTypeById(id).name).sort()
  const isSame =
    added.length + changed.length + removed.length === 0 &&
    known.isStrict === definition.strict &&
    above.join() === [...definition.supertypes].sort().join()
  return isSame ? undefined : { action: 'update-record-type', name, input, added, removed, changed }
}

/**
 * Applies the plan of these definitions; with `dryRun` the plan is only returned. `ERR_TYPE` with
 * the conflicts, if there are any; then nothing is applied. `ERR_INVALID_ARGUMENT`, and the errors
 * of the calls of the type manager.
 */
export async function applySchema(
  manager: TypeManager,
  definitions: readonly Definition[],
  options: SchemaOptions = {},
): Promise<SchemaPlan> {
  const { dryRun } = schemaOptions.read(options)
  const wanted = checkDefinitions(definitions)
  await TypeManager.check(manager).refresh()
  const plan = planOf(manager.schema, wanted)
  if (dryRun) return plan
  if (plan.conflicts.length > 0) {
    throw repositoryError('type', `the schema cannot be applied: ${plan.conflicts.join('; ')}`)
  }
  for (const step of plan.steps) {
    if (step.action === 'create-field-type') await manager.createOrUpdateFieldType(step.input)
    else await manager.createOrUpdateRecordType(step.input)
  }
  return plan
}
