// SPDX-License-Identifier: GPL-2.0-or-later
//
// The registers of the sampling unit as software sees them: access, the period counter, the interrupt, what is discarded.
// Prints "ok" or "not ok" for each sentence.
//
`default_nettype none
module bench #(
    parameter int Xlen = 64
);
  localparam logic [11:0] Pc = 12'h5C0, Data = 12'h5C1, Details = 12'h5C2, Bt1 = 12'h5C3, Bt2 = 12'h5C4, Cc = 12'h5C5;
  logic clk = 0, rst = 1, head_valid = 1, count = 1, csr_valid = 0, csr_write = 0, lcofip_clear = 0;
  logic machine = 0, guest = 0, user = 0, delegated = 1, record_ready = 0, flush = 0;
  logic [1:0] slot_valid = 0;
  logic [11:0] addr = 0;
  logic [Xlen-1:0] wdata = 0, rdata, record_pc, record_bt1, record_bt2, record_data;
  logic [31:0] record_details;
  logic hit, illegal, virt, lcofip, sampled, record_valid;
  int number = 0, cycles = 0, seen;

  shpms_unit #(
      .Width(2), .Xlen(Xlen), .CounterBits(20), .Causes(10), .AutoRun(1), .Depth(2), .CounterId(5'd7)
  ) unit (
      .clk(clk), .rst(rst), .slot_valid(slot_valid), .slot_pc({Xlen'(64'h2004), Xlen'(64'h2000)}), .slot_short(2'b0),
      .slot_taken(2'b11), .slot_target({Xlen'(64'h4000), Xlen'(64'h2004)}), .slot_cause(20'd0), .slot_flush(2'b0),
      .head_valid(head_valid), .head_done(1'b1), .head_pc(Xlen'(64'h1000)), .head_cause(10'd0), .flush(flush),
      .flush_pc(Xlen'(64'h3000)), .flush_cause(10'h15), .rollback(1'b0), .redirect(1'b0), .redirect_due(1'b0),
      .rename_blocked(1'b0), .count(count), .csr_valid(csr_valid), .csr_write(csr_write), .csr_addr(addr), .csr_wdata(wdata),
      .csr_machine(machine), .csr_guest(guest), .csr_user(user), .csr_delegated(delegated), .csr_hit(hit),
      .csr_illegal(illegal), .csr_virtual(virt), .csr_rdata(rdata), .lcofip_clear(lcofip_clear), .lcofip(lcofip),
      .sampled(sampled), .record_valid(record_valid), .record_ready(record_ready), .record_pc(record_pc),
      .record_details(record_details), .record_bt1(record_bt1), .record_bt2(record_bt2), .record_data(record_data)
  );

  task automatic check(input logic holds, input string what);
    number = number + 1;
    if (holds === 1'b1) $display("ok %0d - %0s", number, what);
    else $display("not ok %0d - %0s", number, what);
  endtask

  task automatic step;
    #1 clk = 1;
    #1 clk = 0;
    cycles = cycles + 1;
    #1;
  endtask

  task automatic write(input logic [11:0] a, input logic [63:0] value);
    addr = a;
    wdata = Xlen'(value);
    csr_valid = 1;
    csr_write = 1;
    step;
    csr_valid = 0;
    csr_write = 0;
  endtask

  task automatic read(input logic [11:0] a);
    addr = a;
    csr_valid = 1;
    #1;
  endtask

  // Cycles until one is sampled, at most so many; that cycle is the present one.
  task automatic until_sampled(input int most);
    seen = 0;
    #1;
    while (!sampled && seen < most) begin
      step;
      seen = seen + 1;
    end
  endtask

  task automatic until_pending;
    for (int i = 0; i < 8 && !lcofip; i = i + 1) step;
  endtask

  initial begin
    step;
    step;
    rst = 0;
    read(Cc);
    check(rdata == 0 && !lcofip && !record_valid, "after reset the counter stands, and nothing is pending");
    // Access
    for (int i = 0; i < 6; i = i + 1) begin
      read(Pc + 12'(i));
      if (!hit || illegal || virt) seen = -1;
    end
    check(seen != -1, "S-mode reads all six registers with counter delegation");
    read(12'h5C6);
    check(!hit && !illegal && !virt, "the address behind them is not the unit's");
    read(12'h5BF);
    check(!hit, "nor the one before");
    read(Pc);
    delegated = 0;
    #1 check(hit && illegal && !virt, "without counter delegation S-mode has an illegal instruction");
    machine = 1;
    #1 check(hit && !illegal && !virt, "M-mode has access nevertheless");
    machine = 0;
    delegated = 1;
    user = 1;
    #1 check(illegal && !virt, "U-mode has an illegal instruction");
    user = 0;
    guest = 1;
    #1 check(virt && !illegal, "a guest has a virtual-instruction exception");
    csr_valid = 0;
    #1 check(!virt && !illegal, "without an access there is no exception");
    write(Cc, 64'd1048576 - 64'd300);
    guest = 0;
    read(Cc);
    check(rdata == 0, "what is refused writes nothing");
    user = 1;
    write(Cc, 64'd1048576 - 64'd300);
    user = 0;
    read(Cc);
    check(rdata == 0, "nor does it from U-mode");
    // The period counter
    write(Cc, 64'd1048576 - 64'd255);
    read(Cc);
    check(rdata == 0, "a period of 255 cycles is refused");
    write(Cc, 64'd1048576 - 64'd256);
    read(Cc);
    check(rdata == Xlen'(64'd1048576 - 64'd256), "one of 256 is not");
    write(Cc, 64'd1048576 - 64'd1);
    read(Cc);
    check(rdata == Xlen'(64'd1048576 - 64'd256), "a refused value leaves the one before");
    csr_valid = 0;
    write(Cc, 64'd1048576 - 64'd256);
    until_sampled(2000);
    check(seen == 256, "the first sample is a period after the write");
    step;
    check(!sampled && !lcofip, "a stalled cycle waits for what is known when the head leaves");
    slot_valid = 2'b01;
    step;
    slot_valid = 0;
    until_pending;
    check(lcofip, "then it is pending");
    read(Pc);
    check(rdata == Xlen'(64'h1000), "the PC is that of the stalled instruction");
    read(Details);
    check(rdata == Xlen'(64'h10), "the state is stalled, without a cause");
    read(Data);
    check(rdata == Xlen'(64'd7), "CNTRID is the counter's");
    csr_valid = 0;
    seen = 0;
    for (int i = 0; i < 600; i = i + 1) begin
      if (sampled) seen = seen + 1;
      step;
    end
    read(Pc);
    check(seen == 0 && lcofip && rdata == Xlen'(64'h1000), "while it is pending no other is taken");
    write(Bt1, 64'h1235);
    read(Bt1);
    check(rdata == Xlen'(64'h1234), "software can write a target; its lowest bit is 0");
    write(Bt2, 64'hffff);
    read(Bt2);
    check(rdata == Xlen'(64'hfffe), "and the other");
    write(Details, 64'hffffffff_ffffffff);
    read(Details);
    check(rdata == Xlen'(64'hffffffff), "and the details, whose upper half is reserved");
    write(Pc, 64'h77);
    read(Pc);
    check(rdata == Xlen'(64'h76), "and the PC");
    csr_valid = 0;
    lcofip_clear = 1;
    step;
    lcofip_clear = 0;
    #1 check(!lcofip, "software clears the bit");
    slot_valid = 2'b11;
    until_sampled(2000);
    step;
    slot_valid = 0;
    until_pending;
    read(Pc);
    check(lcofip && rdata == Xlen'(64'h2000), "the next sample: the oldest of two that retired");
    read(Details);
    check(rdata[9:0] == 10'h082 && rdata[17:10] == 8'h21, "two retired, two transfers behind the first and the second");
    read(Bt1);
    check(rdata == Xlen'(64'h2004), "the first target");
    read(Bt2);
    check(rdata == Xlen'(64'h4000), "the second target");
    read(Data);
    check(Xlen == 32 || rdata[Xlen-1-:32] == 32'd2, "it counts the two overflows that were discarded");
    csr_valid = 0;
    lcofip_clear = 1;
    step;
    lcofip_clear = 0;
    // Modes
    count = 0;
    until_sampled(2000);
    check(seen == 2000, "in M-mode the counter stands still");
    count = 1;
    head_valid = 0;
    flush = 1;
    until_sampled(2000);
    step;
    until_pending;
    read(Details);
    check(lcofip && rdata == Xlen'(64'h05440020), "flushed, with the causes of the culprit");
    read(Pc);
    check(rdata == Xlen'(64'h3000), "at its PC");
    csr_valid = 0;
    write(Cc, 64'd0);
    read(Cc);
    check(rdata == 0 && lcofip, "writing 0 stops the counter and leaves what is pending");
    csr_valid = 0;
    lcofip_clear = 1;
    step;
    lcofip_clear = 0;
    until_sampled(3000);
    check(seen == 3000, "then there is no sample");
    // AutoRun
    write(Cc, 64'h80000000 + 64'd1048576 - 64'd256);
    read(Cc);
    check(rdata == Xlen'(64'h80000000 + 64'd1048576 - 64'd256), "AutoRun is on");
    csr_valid = 0;
    until_sampled(2000);
    step;
    check(record_valid && !lcofip && record_pc == Xlen'(64'h3000) && record_details == 32'h05440020,
          "a record is streamed, without an interrupt");
    check(record_data == Xlen'(64'd7), "with CNTRID, and nothing discarded");
    for (int i = 0; i < 1000; i = i + 1) step;
    check(record_valid && record_pc == Xlen'(64'h3000), "it waits until it is taken");
    record_ready = 1;
    #1 step;
    check(record_valid, "another one is behind it");
    check(record_data[4:0] == 5'd7 && (Xlen == 32 || record_data[Xlen-1-:32] == 32'd2),
          "with CNTRID, and the count of the two overflows that found no room");
    step;
    check(!record_valid, "and no third: two may wait");
    until_sampled(2000);
    check(sampled, "then there is room again");
    #1 step;
    check(record_valid && (Xlen == 32 || record_data[Xlen-1-:32] == 0), "its count of discarded overflows was told before");
    write(Cc, 64'd1048576 - 64'd256);
    #1 check(!record_valid, "a new period drops what waits");
    rst = 1;
    step;
    rst = 0;
    read(Cc);
    check(rdata == 0 && !lcofip, "reset stops it all");
    $display("1..%0d", number);
    $finish;
  end
endmodule
`default_nettype wire
