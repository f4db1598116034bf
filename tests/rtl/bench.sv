// SPDX-License-Identifier: GPL-2.0-or-later
//
// Drives the sampling unit with the cycles of a file that vectors.py writes, and writes its records: with AutoRun as they are
// streamed, otherwise as software reads the registers after the interrupt.
//
//   +vectors=FILE +records=FILE +period=N [+stall=N: the stream takes a record in one of N cycles] [+delay=N: cycles until the
//   interrupt is served] [+skip=N: cycles of the file that pass before the counter is started]
//
// A line for each record: cycle, pc, details, bt1, bt2, data.
//
`default_nettype none
module bench #(
    parameter int Width = 4,
    parameter int Xlen = 64,
    parameter bit Compressed = 1,
    parameter int Targets = 2,
    parameter int Causes = 10,
    parameter logic [9:0] FrontCauses = 10'b0001000011,
    parameter int AllocCause = -1,
    parameter int CounterBits = 31,
    parameter int MinimumBits = 8,
    parameter bit AutoRun = 1,
    parameter bit Late = 1,
    parameter int Depth = 4,
    parameter int RefillCycles = 0,
    parameter bit RowPc = 0
);
  localparam int CauseBits = Causes > 0 ? Causes : 1;
  localparam int SlotPcs = RowPc ? 1 : Width;
  localparam logic [11:0] Base = 12'h5C0;

  logic clk = 0, rst = 1;
  logic [Width-1:0] slot_valid = 0, slot_short = 0, slot_taken = 0, slot_flush = 0;
  logic [SlotPcs*Xlen-1:0] slot_pc = 0;
  logic [Width*Xlen-1:0] slot_target = 0;
  logic [Width*CauseBits-1:0] slot_cause = 0;
  logic [Xlen-1:0] head_pc = 0, flush_pc = 0;
  logic [CauseBits-1:0] head_cause = 0, flush_cause = 0;
  logic [6:0] flags = 0;
  logic csr_valid = 0, csr_write = 0, lcofip_clear = 0, record_ready = 1;
  logic [11:0] csr_addr = 0;
  logic [Xlen-1:0] csr_wdata = 0, csr_rdata, record_pc, record_bt1, record_bt2, record_data;
  logic [31:0] record_details;
  logic csr_hit, csr_illegal, csr_virtual, lcofip, sampled, record_valid;

  shpms_unit #(
      .Width(Width), .Xlen(Xlen), .Compressed(Compressed), .Targets(Targets), .Causes(Causes), .FrontCauses(FrontCauses),
      .AllocCause(AllocCause), .CounterBits(CounterBits), .MinimumBits(MinimumBits), .AutoRun(AutoRun), .Late(Late),
      .Depth(Depth), .RefillCycles(RefillCycles), .RowPc(RowPc)
  ) unit (
      .clk(clk), .rst(rst), .slot_valid(slot_valid), .slot_pc(slot_pc), .slot_short(slot_short), .slot_taken(slot_taken),
      .slot_target(slot_target), .slot_cause(slot_cause), .slot_flush(slot_flush), .head_valid(flags[0]), .head_done(flags[1]),
      .head_pc(head_pc), .head_cause(head_cause), .flush(flags[2]), .flush_pc(flush_pc), .flush_cause(flush_cause),
      .rollback(flags[3]), .redirect(flags[4]), .redirect_due(flags[5]), .rename_blocked(flags[6]), .count(1'b1),
      .csr_valid(csr_valid), .csr_write(csr_write), .csr_addr(csr_addr), .csr_wdata(csr_wdata), .csr_machine(1'b0),
      .csr_guest(1'b0), .csr_user(1'b0), .csr_delegated(1'b1), .csr_hit(csr_hit), .csr_illegal(csr_illegal),
      .csr_virtual(csr_virtual), .csr_rdata(csr_rdata), .lcofip_clear(lcofip_clear), .lcofip(lcofip), .sampled(sampled),
      .record_valid(record_valid), .record_ready(record_ready), .record_pc(record_pc), .record_details(record_details),
      .record_bt1(record_bt1), .record_bt2(record_bt2), .record_data(record_data)
  );

  // Cycles of the samples whose records are to come.
  longint sample_cycle[256];
  logic [7:0] first = 0, next = 0;
  longint taken = 0, written = 0, discarded = 0;
  longint cycle = -2;
  int vectors, records, stall = 1, delay = 0, since = 0, n;
  longint period, skip = 0, repeats;
  logic [Xlen-1:0] value[6];
  string vectors_name, records_name;

  task automatic tick;
    #1 clk = 1;
    #1 clk = 0;
  endtask

  // One cycle with the inputs as they are.
  task automatic step;
    record_ready = stall <= 1 || $urandom % stall == 0;
    lcofip_clear = 0;
    csr_write = 0;
    csr_valid = 0;
    if (cycle == skip - 2) begin
      csr_valid = 1;
      csr_write = 1;
      csr_addr = Base + 12'd5;
      csr_wdata = Xlen'((64'd1 << CounterBits) - period) | (AutoRun ? Xlen'(64'h80000000) : 0);
    end
    #1;
    if (lcofip) begin
      // Software reads one register after the other, then clears the bit.
      since = since + 1;
      if (since > delay && since <= delay + 5) begin
        csr_valid = 1;
        csr_addr = Base + 12'(since - delay - 1);
        #1 value[since-delay-1] = csr_rdata;
        if (!csr_hit || csr_illegal || csr_virtual) $fatal(1, "register %h cannot be read", csr_addr);
      end
      if (since == delay + 6) begin
        $fwrite(records, "%0d %h %h %h %h %h\n", sample_cycle[first], value[0], value[2], value[3], value[4], value[1]);
        first = first + 1;
        written = written + 1;
        lcofip_clear = 1;
        since = 0;
      end
    end
    #1;
    if (record_valid && record_ready) begin
      $fwrite(records, "%0d %h %h %h %h %h\n", sample_cycle[first], record_pc, record_details, record_bt1, record_bt2,
              record_data);
      first = first + 1;
      written = written + 1;
    end
    if (sampled) begin
      sample_cycle[next] = cycle;
      next = next + 1;
      taken = taken + 1;
    end
    if (unit.sample && !sampled) discarded = discarded + 1;
    tick;
    cycle = cycle + 1;
  endtask

  // $fscanf reads into these: Verilator 5.006 does not see that it changes a variable which logic depends on.
  longint slots, valid, a, b, c, d, e;
  initial begin
    if (!$value$plusargs("vectors=%s", vectors_name) || !$value$plusargs("records=%s", records_name) ||
        !$value$plusargs("period=%d", period))
      $fatal(1, "+vectors=, +records= and +period= are needed");
    if (!$value$plusargs("stall=%d", stall)) stall = 1;
    if (!$value$plusargs("delay=%d", delay)) delay = 0;
    if (!$value$plusargs("skip=%d", skip)) skip = 0;
    vectors = $fopen(vectors_name, "r");
    records = $fopen(records_name, "w");
    if (vectors == 0 || records == 0) $fatal(1, "a file cannot be opened");
    tick;
    tick;
    rst = 0;
    step;
    step;
    while ($fscanf(vectors, "%h %h %h %h %h %h %h %h", repeats, c, d, a, e, b, valid, slots) == 8) begin
      flags = 7'(c);
      head_pc = Xlen'(d);
      flush_pc = Xlen'(e);
      head_cause = CauseBits'(a);
      flush_cause = CauseBits'(b);
      slot_valid = Width'(valid);
      slot_short = 0;
      slot_taken = 0;
      slot_flush = 0;
      slot_pc = 0;
      slot_target = 0;
      slot_cause = 0;
      if (slots > 64'(Width)) $fatal(1, "cycle %0d: %0d slots", cycle, slots);
      for (int i = 0; i < int'(slots); i = i + 1) begin
        n = $fscanf(vectors, "%h %h %h %h", a, b, c, d);
        if (n != 4) $fatal(1, "cycle %0d: the line is short", cycle);
        if (i < SlotPcs) slot_pc[i*Xlen+:Xlen] = Xlen'(a);
        slot_short[i] = b[0];
        slot_taken[i] = b[1];
        slot_flush[i] = b[2];
        slot_target[i*Xlen+:Xlen] = Xlen'(c);
        slot_cause[i*CauseBits+:CauseBits] = CauseBits'(d);
      end
      for (longint i = 0; i < repeats; i = i + 1) step;
    end
    $fclose(records);
    $display("%0d cycles, %0d samples, %0d records, %0d discarded, of which no record tells %0d", cycle, taken, written,
             discarded, 64'(unit.discarded) + (taken == written ? 64'd0 : 64'(unit.told)));
    $finish;
  end
endmodule
`default_nettype wire
