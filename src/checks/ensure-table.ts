/** Creates a table if it does not exist, and adds the families that it lacks. */
import { shown } from '../base/arguments.js'
import { CellarError, ErrorCode } from '../base/errors.js'
import type { Admin } from '../api/database.js'
import {
  familyOptions,
  tableOptions,
  type FamilyOptions,
  type TableDescription,
  type TableOptions,
} from '../api/schema.js'
import { checkForm } from './forms.js'

/**
 * Implements `Admin.ensureTable` for every backend: creates the table if it does not exist, and
 * adds the families that an existing table lacks. If a given option differs from the existing one,
 * throws `ERR_TABLE_EXISTS`, because a changed option may remove data. `modifyTable` changes
 * options.
 */
export async function ensureTable(
  admin: Admin,
  name: string,
  options: TableOptions,
): Promise<void> {
  if (!(await admin.tableExists(name))) {
    try {
      await admin.createTable(name, options)
      return
    } catch (error) {
      // Another caller has created the table in between.
      if (!(error instanceof CellarError) || error.code !== ErrorCode.tableExists) throw error
    }
  }
  const found = await admin.getDescriptor(name)
  const missing = missingFamilies(name, found, options)
  if (Object.keys(missing).length > 0) await admin.modifyTable(name, { families: missing })
}

function missingFamilies(
  table: string,
  found: TableDescription,
  options: TableOptions,
): Record<string, FamilyOptions> {
  const { families, ...ofTable } = tableOptions.check(options)
  // The member `name` has no effect, as everywhere in options.
  checkEqual(`table '${table}'`, found, { ...ofTable, name: found.name })
  const missing: Record<string, FamilyOptions> = {}
  for (const [family, wanted] of Object.entries(checkForm(families, 'families'))) {
    if (!Object.hasOwn(found.families, family)) missing[family] = wanted
    else {
      const what = `column family '${family}' of '${table}'`
      checkEqual(what, found.families[family], familyOptions.check(wanted))
    }
  }
  return missing
}

/** Compares only given options. Throws `ERR_TABLE_EXISTS` if one differs. */
function checkEqual(what: string, found: object, wanted: object): void {
  for (const [option, value] of Object.entries(wanted)) {
    if (value === undefined) continue
    const stored = (found as Readonly<Record<string, unknown>>)[option]
    if (agrees(stored, value)) continue
    const message =
      `${what} exists with ${option} ${shownOption(stored)}, not ${shownOption(value)}; ` +
      'modifyTable changes options'
    throw new CellarError(ErrorCode.tableExists, message)
  }
}

/**
 * Whether a stored option has the wanted value. It may have more members: defaults are filled in.
 */
function agrees(stored: unknown, wanted: unknown): boolean {
  if (typeof wanted === 'string' && isObject(stored)) return stored['policy'] === wanted
  if (!isObject(wanted)) return Object.is(stored, wanted)
  if (!isObject(stored)) return false
  return Object.entries(wanted).every(([key, value]) => agrees(stored[key], value))
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

function shownOption(value: unknown): string {
  return isObject(value) ? JSON.stringify(value) : shown(value)
}
