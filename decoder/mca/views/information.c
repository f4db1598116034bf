/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Instruction information: the model's data for each instruction. */
#include <stdlib.h>
#include <string.h>

#include "decoder/mca/views/views.h"

static void print_uses(struct mca_text *text, const struct pesa_mca_model *model,
		       const struct pesa_mca_information *information)
{
	const char *separator = "";

	for (unsigned int i = 0; i < information->uses; i++) {
		const struct pesa_mca_use *use = &information->use[i];

		if (!use->release)
			continue;
		mca_print(text, "%s%s", separator,
			  pesa_mca_model_resource(model, use->resource)->name);
		if (use->acquire)
			mca_print(text, "[%u,%u]", use->acquire, use->release);
		else if (use->release != 1)
			mca_print(text, "[%u]", use->release);
		separator = ",";
	}
}

/* The members of a group, each repeated for each of its units. */
static void print_members(struct mca_text *text, const struct pesa_mca_model *model,
			  const struct pesa_mca_resource *group)
{
	const char *separator = "";

	if (group->members)
		mca_pad(text, 20);
	for (unsigned int i = 0; i < group->members; i++) {
		const struct pesa_mca_resource *member =
			pesa_mca_model_resource(model, group->member[i]);

		for (unsigned int unit = 0; unit < member->units; unit++) {
			mca_print(text, "%s%s", separator, member->name);
			separator = ", ";
		}
	}
}

static void print_resources(struct mca_text *text, const struct pesa_mca_model *model)
{
	mca_put_text(text, "\n\nResources:\n");
	for (unsigned int i = 0; i < pesa_mca_model_resources(model); i++) {
		const struct pesa_mca_resource *resource = pesa_mca_model_resource(model, i);

		mca_print(text, "[%u]", i);
		mca_pad(text, 6);
		mca_print(text, "- %s:%u", resource->name, resource->units);
		print_members(text, model, resource);
		mca_put_text(text, "\n");
	}
}

static void print_legend(struct mca_text *text, const struct mca_view_context *context)
{
	unsigned int column = 7;

	mca_print(text, "\n\nInstruction Info:\n[1]: #uOps\n[2]: Latency\n[3]: RThroughput\n"
			"[4]: MayLoad\n[5]: MayStore\n[6]: HasSideEffects (U)\n");
	if (context->full) {
		mca_print(text, "[7]: Bypass Latency\n[8]: Resources (<Name> | "
				"<Name>[<ReleaseAtCycle>] | "
				"<Name>[<AcquireAtCycle>,<ReleaseAtCycle])\n"
				"[9]: LLVM Opcode Name\n");
		column = 10;
	}
	if (context->barriers) {
		mca_print(text, "[%u]: LoadBarrier\n[%u]: StoreBarrier\n", column, column + 1);
		column += 2;
	}
	if (context->encodings)
		mca_print(text, "[%u]: Encoding Size\n", column);
	mca_put_text(text, "\n[1]    [2]    [3]    [4]    [5]    [6]    ");
	column = 7;
	if (context->full) {
		mca_put_text(text, "[7]    [8]");
		mca_pad(text, 92);
		mca_put_text(text, "[9]");
		mca_pad(text, 119);
		column = 10;
	}
	if (context->barriers) {
		mca_print(text, column < 10 ? "[%u]    [%u]    " : "[%u]   [%u]   ", column,
			  column + 1);
		column += 2;
	}
	if (context->encodings)
		mca_print(text,
			  column < 10 ? "[%u]    Encodings:                    "
				      : "[%u]   Encodings:                    ",
			  column);
	mca_put_text(text, "Instructions:\n");
}

static void print_encoding(struct mca_text *text, const struct pesa_insn *insn)
{
	unsigned int width = 0;

	mca_print(text, " %u%s", insn->length, insn->length < 10 ? "     " : "    ");
	for (unsigned int i = 0; i < insn->length; i++, width += 3)
		mca_print(text, "%02x ", (unsigned int)(insn->bits >> 8 * i & 0xff));
	mca_print(text, "%*s", (int)(30 - width), "");
}

static void print(struct mca_view *view, struct mca_text *text)
{
	const struct mca_view_context *context = view->context;

	if (context->full)
		print_resources(text, context->model);
	print_legend(text, context);
	for (unsigned int i = 0; i < context->count; i++) {
		struct pesa_mca_information information;

		pesa_mca_block_information(context->block, i, &information);
		mca_print(text, " %-6u %-6u", information.micro_ops, information.latency);
		mca_print(text, "%-7.2f", information.reciprocal_throughput);
		mca_put_text(text, information.load ? " *     " : "       ");
		mca_put_text(text, information.store ? " *     " : "       ");
		mca_put_text(text, information.side_effects ? " U     " : "       ");
		if (context->full) {
			mca_print(text, " %-6u", information.bypass_latency);
			print_uses(text, context->model, &information);
			mca_pad(text, 92);
			mca_print(text, "%s", information.opcode);
			/* After a name that is too long there is a space only if text follows. */
			if (text->column < 119 || !(context->barriers || context->encodings))
				mca_pad(text, 119);
		}
		/* No RISC-V instruction is a barrier for the engine. */
		if (context->barriers)
			mca_put_text(text, "              ");
		if (context->encodings)
			print_encoding(text, context->insn[i]);
		mca_put_text(text, context->text[i]);
		if (context->full)
			mca_print(text, "\t%s",
				  context->comment && context->comment[i] ? context->comment[i]
									  : "");
		mca_put_text(text, "\n");
	}
}

static struct json_object *json(struct mca_view *view)
{
	const struct mca_view_context *context = view->context;
	struct json_object *object = json_object_new_object(), *list = json_object_new_array();

	for (unsigned int i = 0; i < context->count; i++) {
		struct json_object *entry = json_object_new_object();
		struct pesa_mca_information information;

		pesa_mca_block_information(context->block, i, &information);
		mca_json_integer(entry, "Instruction", i);
		mca_json_integer(entry, "Latency", information.latency);
		mca_json_integer(entry, "NumMicroOpcodes", information.micro_ops);
		mca_json_number(entry, "RThroughput", information.reciprocal_throughput);
		mca_json_boolean(entry, "hasUnmodeledSideEffects", information.side_effects);
		mca_json_boolean(entry, "mayLoad", information.load);
		mca_json_boolean(entry, "mayStore", information.store);
		json_object_array_add(list, entry);
	}
	json_object_object_add(object, "InstructionList", list);
	return object;
}

struct pesa_error *mca_view_information(struct mca_view *view,
					const struct mca_view_context *context)
{
	*view = (struct mca_view){
		.context = context,
		.name = "InstructionInfoView",
		.print = print,
		.json = json,
		.free = mca_view_free_state,
	};
	return NULL;
}
