// The commands of the tools: what narrows and guards them, how calls are shown, the schema language, the settings.
import { SettingsProvider, settingsNamespace } from '@deepseek-ai/dsh-settings'
import {
  assertObjectJsonSchema,
  assertSupportedJsonSchema,
  parameterSchemaSpecToJsonSchema,
  validateArgs,
  validateJsonSchemaValue,
  valueSchemaSpecToJsonSchema,
} from '@deepseek-ai/dsh-tools'
import { Started, owned } from './commands.mjs'
import { callable } from './functions.mjs'
import { KINDS } from './kinds.mjs'

const given = (members) => Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))

/** The settings of a user, in memory. */
export class SuiteSettings extends SettingsProvider {
  writable = true

  load() {
    return Promise.resolve({})
  }

  persist() {
    return Promise.resolve()
  }
}

export const TOOLS = {
  'tool.restrict'({ as, allow, deny, in: place }, { world }) {
    owned(world, as, world.context(place).tools.restrict(given({ allow, deny })))
  },
  'tool.guard'({ as, fn, in: place }, { world }) {
    owned(world, as, world.context(place).tools.guard(callable(world, fn, KINDS.guard)))
  },
  'tool.present'({ name, scope, arguments: args, in: place, ...rest }, { world }) {
    const definition = world.context(place).tools.get(name, world.scope(scope))
    return 'result' in rest ? definition?.presentResult?.(args, rest.result) : definition?.presentCall?.(args)
  },
  'approval.provide'({ as, fn, in: place }, { world }) {
    const service = { request: callable(world, fn, KINDS.approval) }
    owned(world, as, world.context(place).provide('approval', service))
  },
  'schema.compile': ({ what, spec }) =>
    (what === 'value' ? valueSchemaSpecToJsonSchema : parameterSchemaSpecToJsonSchema)(spec),
  'schema.assert': ({ what, schema }) =>
    (what === 'supported' ? assertSupportedJsonSchema : assertObjectJsonSchema)(schema),
  'schema.validate': ({ schema, root, value, ...rest }) =>
    ('spec' in rest ? validateArgs(rest.spec, value) : validateJsonSchemaValue(schema, value, root)),
  'settings.write'({ section, value }, { world }) {
    return new Started(world.root.settings.replace(settingsNamespace(section), value ?? {}))
  },
}
